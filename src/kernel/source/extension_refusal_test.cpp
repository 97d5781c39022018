// Extension files that compute on the host, lie about memory or shapes, or try to return what they were given.

#include <gtest/gtest.h>

#include "kernel/source/extension_file.h"
#include "kernel/source/interpreter_test_support.h"
#include "kernel/source/rules.h"

namespace kw {
namespace {

const std::string head =
    "#include <torch/extension.h>\n"
    "__global__ void k(const float* x, float* y, long n) {}\n";
const std::string launch = "k<<<1, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());";

// The body starts on line 4.
Result<LaunchPlan> plan_of(const std::string& body) {
  return plan_text(head + "torch::Tensor forward(torch::Tensor x) {\n" + body + "\n}\n");
}

std::string answer(const std::string& body) {
  const auto plan = plan_of(body);
  return plan.ok() ? "accepted" : to_string(plan.error());
}

TEST(ExtensionRefusals, AnHonestFileIsAccepted) {
  EXPECT_EQ(answer("auto y = torch::empty_like(x); " + launch + " return y;"), "accepted");
}

TEST(ExtensionRefusals, ReturnedTensorsMustBeNewAndWhole) {
  const std::pair<const char*, const char*> cases[] = {
      {"auto y = torch::empty_like(x); LAUNCH return x;", "is an input, or a view of one"},
      {"auto y = torch::empty_like(x); LAUNCH return x.view({7, 129});", "is an input, or a view of one"},
      {"auto y = torch::empty_like(x); LAUNCH y = x; return y;", "is an input, or a view of one"},
      {"auto y = torch::empty_like(x); LAUNCH return x.contiguous();", "is an input, or a view of one"},
      {"auto y = torch::empty_like(x); LAUNCH return x.to(torch::kFloat32);", "is an input, or a view of one"},
      {"auto y = torch::empty({9, 129}, x.options()); LAUNCH return y;", "has the shape [9, 129], not [7, 129]"},
      {"auto y = torch::empty({9, 129}, x.options()); LAUNCH return y.narrow(0, 1, 7);",
       "is a part of a larger tensor"},
      {"auto y = torch::empty({129, 7}, x.options()); LAUNCH return y.t();", "is not contiguous"},
      {"auto y = torch::empty({7 * 129}, x.options()); LAUNCH return y;", "has the shape [903], not [7, 129]"},
      {"auto y = torch::empty({7, 129}, x.options().dtype(torch::kFloat64)); k<<<1, 1>>>(x.data_ptr<float>(), nullptr, "
       "1);"
       " return y;",
       "has the type double, not float"},
      {"torch::Tensor y; return y;", "is not defined"},
      {"auto y = torch::empty({7, 0, 129}, x.options()); return y;", "has the shape [7, 0, 129], not [7, 129]"},
  };
  for (const auto& [body, reason] : cases) {
    std::string text = body;
    if (const std::size_t at = text.find("LAUNCH"); at != std::string::npos) text.replace(at, 6, launch);
    EXPECT_NE(answer(text).find(reason), std::string::npos) << body << "\n  " << answer(text);
  }
}

TEST(ExtensionRefusals, OutputsAreMemoryOfTheirOwn) {
  Task task = row_task();
  task.outputs.push_back(task.outputs[0]);
  task.outputs[1].name = "z";
  const auto plan = [&](const std::string& body) {
    const auto file =
        read_kernel_file(head + "std::vector<torch::Tensor> forward(torch::Tensor x) {\n" + body + "\n}\n", "a.cu");
    if (!file.ok()) return to_string(file.error());
    const auto made = make_launch_plan(*file, task, {{"rows", 7}, {"cols", 129}});
    return made.ok() ? std::string("accepted") : to_string(made.error());
  };
  EXPECT_EQ(plan("auto y = torch::empty_like(x); auto z = torch::empty_like(x); " + launch + " return {y, z};"),
            "accepted");
  EXPECT_NE(
      plan("auto y = torch::empty_like(x); " + launch + " return {y, y.view({7, 129})};").find("are the same memory"),
      std::string::npos);
  EXPECT_NE(plan("auto y = torch::empty_like(x); " + launch + " return {y};").find("returns 1 tensors"),
            std::string::npos);
  EXPECT_NE(plan("auto y = torch::empty_like(x); " + launch + " return {y, x};").find("is an input"),
            std::string::npos);
}

TEST(ExtensionRefusals, ComputingOnTheHostIsRefusedByNameAndLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"return at::relu(x);", "`at::relu`"},
      {"return torch::matmul(x, x);", "`torch::matmul`"},
      {"auto y = x.sum();", "the tensor's `sum`"},
      {"auto y = x + x;", "the operator + on tensors"},
      {"auto y = 2 * x;", "the operator * on tensors"},
      {"auto y = x.transpose(0, 1).contiguous();", "`contiguous` of a tensor that would have to be copied"},
      {"auto y = x.t().view({-1});", "`view` of a tensor that would have to be copied"},
      {"auto y = x.to(torch::kFloat64);", "`to`"},
      {"float v = x.item<float>();", "the tensor's `item`"},
      {"auto y = x.mean(-1);", "the tensor's `mean`"},
      {"x.resize_({1});", "the tensor's `resize_`"},
      {"auto y = x.as_strided({7, 129}, {0, 0});", "the tensor's `as_strided`"},
      {"x.set_(x);", "the tensor's `set_`"},
      {"auto y = torch::from_blob(x.data_ptr(), {7, 129});", "`torch::from_blob`"},
      {"auto y = torch::ones({7, 129}, x.options());", "filling a tensor with 1"},
  };
  for (const auto& [body, reason] : cases) {
    const std::string text = answer(body);
    EXPECT_NE(text.find(reason), std::string::npos) << body << "\n  " << text;
    EXPECT_TRUE(text.starts_with("a.cu:4:")) << text;
  }
}

TEST(ExtensionRefusals, MemoryAndShapesCannotLie) {
  const std::pair<const char*, const char*> cases[] = {
      {"auto y = torch::empty({-1, 129}, x.options());", "negative size"},
      {"auto y = torch::empty({4000000000, 4000000000}, x.options());", "too many elements"},
      {"auto y = torch::empty({7, 129});", "makes a tensor on the CPU"},
      {"auto y = torch::empty_like(x); y.data_ptr<double>();", "data_ptr<double> of a tensor of float throws"},
      {"auto y = x.view({7, 130});", "another number of elements"},
      {"auto n = x.size(2);", "dimension 2 of a tensor with 2"},
      {"auto y = x.select(0, 7);", "outside of the tensor"},
      {"auto y = x.narrow(0, 5, 3);", "outside of the tensor"},
      {"float v = x.data_ptr<float>()[0];", "reads or writes device memory on the host"},
      {"*x.data_ptr<float>() = 1.0f;", "reads or writes device memory on the host"},
      {"cudaFree(x.data_ptr<float>());", "an input or output is freed"},
      {"auto y = torch::empty_like(x); cudaFree(y.data_ptr<float>());", "the memory of a tensor is freed"},
      {"x.zero_(); return x;", "the input `x` is overwritten"},
      {"auto y = torch::empty_like(x); x.copy_(y); return y;", "the input `x` is overwritten"},
      {"static torch::Tensor kept = torch::empty_like(x); return kept;", "is static"},
      {"TORCH_CHECK(x.size(0) > 100, \"too small\"); return x;", "TORCH_CHECK fails for these inputs: \"too small\""},
      {"throw std::runtime_error(\"no\");", "throw"},
      {"std::vector<int64_t> s; return x.view(s[3]);", "element 3 of a list of 0"},
      {"std::vector<int64_t> s = {1}; auto& e = s[0]; s.push_back(2); e = 3;", "a reference needs a variable"},
      {"std::vector<int64_t> s = {1, 2}; std::swap(s[0], s[1]);", "cannot be used"},
      {"std::vector<int64_t> s = {1}; int64_t* p = &s[0]; *p = 1;", "cannot be used"},
      {"std::vector<int64_t> s = {1}; int64_t* p = &(s[0] = 2); *p = 1;", "is not a variable"},
      {"std::vector<int64_t> s = {1}; for (auto& e : s) s.push_back(e);", "a loop that changes a list"},
      {"std::vector<int64_t> s; while (true) s.push_back(1);", "a list has too many elements"},
      {"c10::optional<torch::Tensor> o; auto y = o.value();", "the value of an empty optional"},
  };
  for (const auto& [body, reason] : cases) {
    const std::string text = answer(body);
    EXPECT_NE(text.find(reason), std::string::npos) << body << "\n  " << text;
  }
}

TEST(ExtensionRefusals, MessagesOfChecksAreNotEvaluated) {
  EXPECT_EQ(answer("int calls = 0; auto count = [&] { return ++calls; }; TORCH_CHECK(true, count());"
                   "TORCH_CHECK(calls == 0); auto y = torch::empty_like(x); " +
                   launch + " return y;"),
            "accepted");
}

TEST(ExtensionRefusals, TheEntryMustBeClear) {
  const auto read = [](const std::string& text) {
    const auto file = read_kernel_file(text, "a.cu");
    return file.ok() ? std::string("read") : to_string(file.error());
  };
  const std::string one = "torch::Tensor one(torch::Tensor x) { return x; }\n";
  const std::string two = "torch::Tensor two(torch::Tensor x) { return x; }\n";
  EXPECT_EQ(read(head + one), "read");
  EXPECT_NE(read(head + one + two).find("not clear which function"), std::string::npos);
  EXPECT_NE(read(head).find("has no function that takes and returns tensors"), std::string::npos);
  const std::string module = "PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { ";
  EXPECT_NE(read(head + one + two + module + "m.def(\"a\", &one); m.def(\"b\", &two); }").find("none as \"forward\""),
            std::string::npos);
  const std::string forward = "torch::Tensor forward(torch::Tensor x) { return two(x); }\n";
  EXPECT_EQ(read(head + one + two + forward + module + "m.def(\"a\", &one); m.def(\"b\", &two); }"), "read");
  const std::string other = "torch::Tensor forward(torch::Tensor x, int n) { return two(x); }\n";
  EXPECT_NE(read(head + one + two + forward + other + module + "m.def(\"a\", &one); m.def(\"b\", &two); }")
                .find("two functions"),
            std::string::npos);
  EXPECT_NE(read(head + one + module + "m.def(\"forward\", [](torch::Tensor x) { return x; }); }").find("by its name"),
            std::string::npos);
  EXPECT_NE(read(head + one + module + "m.def(\"forward\", &missing); }").find("which it does not define"),
            std::string::npos);
  EXPECT_EQ(read(head + one + two + module + "m.def(\"forward\", torch::wrap_pybind_function(two)); }"), "read");
}

TEST(ExtensionRefusals, SignaturesMustFitTheTask) {
  const auto answer_of = [](const std::string& function) {
    const auto plan = plan_text(head + function);
    return plan.ok() ? std::string("accepted") : to_string(plan.error());
  };
  EXPECT_NE(answer_of("torch::Tensor forward(float x) { }").find("is float, the task's input `x` is a tensor"),
            std::string::npos);
  EXPECT_NE(answer_of("torch::Tensor forward(torch::Tensor x, torch::Tensor w) { }")
                .find("takes 2 arguments, the task gives 1"),
            std::string::npos);
  EXPECT_NE(answer_of("torch::Tensor forward() { }").find("takes 0 arguments"), std::string::npos);
  EXPECT_NE(answer_of("int forward(torch::Tensor x) { return 1; }").find("returns int, not tensors"),
            std::string::npos);
}

TEST(ExtensionRefusals, RulesKnowWhatIsHarmless) {
  const auto rules = [](const std::string& text) {
    std::string names;
    for (const Finding& finding : check_rules(text, "a.cu")) {
      if (finding.severity == Severity::error) names += finding.rule + " ";
    }
    return names;
  };
  const std::string honest = head +
                             "torch::Tensor forward(torch::Tensor x) { auto y = torch::empty_like(x); return y; }\n"
                             "PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def(\"forward\", &forward); }\n";
  EXPECT_EQ(rules(honest), "");
  EXPECT_EQ(rules(head + "torch::Tensor forward(torch::Tensor x) { return at::native::relu(x); }"),
            "library-fallback ");
  EXPECT_EQ(rules(head + "namespace torch { int empty_like(int); }"), "library-redefinition ");
  EXPECT_EQ(rules(head + "__global__ void d(float* y) { y[0] = at::detail::f(1); }"), "library-fallback ");
  EXPECT_EQ(rules("#include <torch/../../etc/passwd>\n"), "include ");
}

}  // namespace
}  // namespace kw
