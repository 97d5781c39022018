#include "agents/normal_form/normal_form.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "agents/grammar/stream.h"
#include "agents/normal_form/frame.h"
#include "agents/normal_form/launcher_order.h"
#include "agents/normal_form/phrasing_cases.h"
#include "kernel/reference/reference.h"
#include "kernel/task/task_file.h"
#include "kernel/task/task_json.h"

namespace kw {
namespace {

std::vector<std::string> split(std::string_view text, std::string_view at) {
  std::vector<std::string> parts(1);
  int open = 0;
  for (const char c : text) {
    open += c == '[' || c == '(' ? 1 : c == ']' || c == ')' ? -1 : 0;
    if (open == 0 && at.find(c) != std::string_view::npos)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

TensorSpec tensor(const std::string& text) {
  const std::size_t colon = text.find(':'), open = text.find('[');
  TensorSpec spec{text.substr(0, colon), Dtype::float32, {}, NormalValues{}};
  if (text.substr(colon + 1, 3) == "i32") {
    spec.dtype = Dtype::int32;
    spec.values = IntegerValues{Expression(0), Expression(3)};
  }
  const std::string shape = text.substr(open + 1, text.size() - open - 2);
  if (!shape.empty())
    for (const std::string& extent : split(shape, ",")) spec.shape.push_back(Expression::parse(extent).value());
  if (shape.empty()) spec.values = UniformValues{0.5, 2.0};
  return spec;
}

Task task_of(const PhrasingCase& phrasing) {
  Task task;
  task.name = "asked";
  const auto sides = split(phrasing.signature, ">");
  std::string parameters;
  for (const std::string& each : split(sides[0], " ")) {
    task.inputs.push_back(tensor(each));
    parameters += (parameters.empty() ? "" : ", ") + task.inputs.back().name;
  }
  task.outputs.push_back(tensor(sides[1]));
  task.pytorch = "def reference(" + parameters + "):\n";
  for (const std::string& line : split(phrasing.body, ";")) task.pytorch += "    " + line + "\n";
  Sizes sizes;
  for (const auto* side : {&task.inputs, &task.outputs})
    for (const TensorSpec& spec : *side)
      for (const Expression& extent : spec.shape)
        for (const std::string& name : extent.names())
          if (sizes.emplace(name, 7 + static_cast<int>(sizes.size())).second) task.size_names.push_back(name);
  task.sizes_small = task.sizes_train = task.sizes_holdout = {sizes};
  return task;
}

std::string compact(const Task& task) {
  std::string text;
  for (const auto* side : {&task.inputs, &task.outputs}) {
    if (side == &task.outputs) text += ">";
    for (std::size_t i = 0; i < side->size(); ++i) {
      const TensorSpec& spec = (*side)[i];
      text += (i == 0 ? "" : " ") + spec.name + "[";
      for (std::size_t j = 0; j < spec.shape.size(); ++j) text += (j == 0 ? "" : ",") + spec.shape[j].text();
      text += "]";
    }
  }
  const std::size_t head = task.pytorch.find('\n');
  for (const std::string& line : split(std::string_view(task.pytorch).substr(head + 1), "\n"))
    if (!line.empty()) text += ";" + line.substr(4);
  return text;
}

// Both give the same numbers on the same inputs.
void expect_same_meaning(const Task& task, const NormalForm& form) {
  for (std::size_t which = 0; which < task.sizes_small.size(); ++which) {
    auto inputs = make_inputs(task, task.sizes_small[which], 5);
    ASSERT_TRUE(inputs.ok()) << to_string(inputs.error());
    const auto run = [&](const Task& asked, const Sizes& sizes) -> Result<std::vector<OutputTensor>> {
      KW_TRY(const auto reference, make_reference(asked));
      const bool moved = &asked == &form.task && !form.places.empty();
      std::vector<InputTensor> given;
      for (std::size_t i = 0; i < inputs->size(); ++i) {
        given.push_back((*inputs)[moved ? form.places[i] : i]);
        given.back().name = asked.inputs[i].name;
      }
      return reference->run(given, sizes, Precision::truth);
    };
    const auto before = run(task, task.sizes_small[which]), after = run(form.task, form.task.sizes_small[which]);
    ASSERT_TRUE(before.ok()) << task.pytorch << to_string(before.error());
    ASSERT_TRUE(after.ok()) << form.task.pytorch << to_string(after.error());
    ASSERT_EQ((*before)[0].shape, (*after)[0].shape) << form.task.pytorch;
    ASSERT_EQ((*before)[0].dtype, (*after)[0].dtype) << form.task.pytorch;
    const std::string &a = (*before)[0].bytes, &b = (*after)[0].bytes;
    ASSERT_EQ(a.size(), b.size());
    if ((*before)[0].dtype != Dtype::float64) {
      EXPECT_TRUE(a == b) << form.task.pytorch;
      continue;
    }
    for (std::size_t at = 0; at + sizeof(double) <= a.size(); at += sizeof(double)) {
      double x = 0, y = 0;
      std::memcpy(&x, a.data() + at, sizeof x);
      std::memcpy(&y, b.data() + at, sizeof y);
      const bool same = x == y || (std::isnan(x) && std::isnan(y)) || std::abs(x - y) <= 1e-9 * (1 + std::abs(x));
      ASSERT_TRUE(same) << x << " and " << y << "\n" << task.pytorch << form.task.pytorch;
    }
  }
}

void expect_normal(const StreamOptions& options, std::uint64_t count) {
  const ExampleStream stream(options);
  for (std::uint64_t i = 0; i < count; ++i) {
    const Task task = stream.task_at(i).task;
    const auto operation = read_operation(task);
    ASSERT_TRUE(operation) << task.pytorch;
    ASSERT_TRUE(frame_of(*operation, task)) << task.pytorch;
    const NormalForm form = normal_form(task);
    ASSERT_FALSE(form.changed) << task.pytorch << form.task.pytorch << description_of(form);
    ASSERT_TRUE(task_json(form.task) == task_json(task)) << task.pytorch;
  }
}

// What training shows is normal already, and so is what is held out from it.
TEST(NormalForm, LeavesDrawnTasksAsTheyAre) {
  for (const DataSplit split : {DataSplit::train, DataSplit::composition, DataSplit::novel}) {
    StreamOptions options;
    options.seed = 11;
    options.split = split;
    expect_normal(options, 3000);
  }
}

TEST(NormalForm, LeavesEveryFamilyAsItIsSlow) {
  const auto novel = novel_families();
  for (int place = 0; place < family_count; ++place) {
    const auto family = static_cast<Family>(place);
    const bool held_out = std::find(novel.begin(), novel.end(), family) != novel.end();
    StreamOptions options;
    options.seed = 12;
    options.families = {family};
    options.split = held_out ? DataSplit::novel : DataSplit::train;
    expect_normal(options, 3000);
  }
}

TEST(NormalForm, BringsPhrasingsToTheGrammarsWords) {
  for (const PhrasingCase& phrasing : phrasing_cases) {
    const Task task = task_of(phrasing);
    EXPECT_EQ(compact(normal_form(task).task), phrasing.expected) << phrasing.signature << "|" << phrasing.body;
  }
}

TEST(NormalForm, IsANormalForm) {
  for (const PhrasingCase& phrasing : phrasing_cases) {
    const Task once = normal_form(task_of(phrasing)).task;
    const NormalForm twice = normal_form(once);
    EXPECT_FALSE(twice.changed) << once.pytorch << twice.task.pytorch;
  }
}

TEST(NormalForm, KeepsNamesWhereTheyAreKept) {
  const Task task = task_of({"a:f32[m,k] b:f32[k,n]>c:f32[m,n]", "return torch.relu(a @ b)", ""});
  const NormalForm form = normal_form(task, AskedNames::kept);
  EXPECT_TRUE(form.renamed.empty());
  EXPECT_EQ(compact(form.task), "a[m,k] b[k,n]>c[m,n];r = torch.matmul(a, b);return torch.relu(r)");
}

TEST(NormalForm, BringsInputsToTheLearnedOrderAndLaunchersBack) {
  const Task task = task_of({"ids:i32[tokens] emb:f32[vocab,dim]>y:f32[tokens,dim]", "return emb[ids.long()]", ""});
  const NormalForm form = normal_form(task);
  EXPECT_EQ(compact(form.task),
            "table[vocab,dim] ids[tokens]>y[tokens,dim];return torch.index_select(table, 0, ids.long())");
  // table, ids, y, vocab, dim, tokens; the task has ids, emb, y, tokens, vocab, dim.
  ASSERT_EQ(form.places, (std::vector<std::size_t>{1, 0, 2, 4, 5, 3}));
  const std::string asked =
      "__global__ void k() {}\nextern \"C\" void launch(const float* table, const int* ids,\n    float* y, int vocab, "
      "int dim, int tokens, "
      "cudaStream_t stream) {\n  k<<<(tokens + 1) / 2, 2, 0, stream>>>();\n}\n";
  const std::string judged = in_task_order(form, asked);
  EXPECT_NE(judged.find("launch(const int* ids, const float* table, float* y, int tokens, int vocab, int dim, "
                        "cudaStream_t stream) {"),
            std::string::npos)
      << judged;
  const std::string shown = in_asked_order(form, judged);
  EXPECT_NE(shown.find("launch(const float* table, const int* ids, float* y, int vocab, int dim, int tokens, "),
            std::string::npos);
  for (const std::string odd :
       {"", "launch(", "void launch(int a, int b)", "void launch(int /* , */ a", "relaunch(x)", "void launch"})
    EXPECT_EQ(in_task_order(form, odd), odd);
  EXPECT_TRUE(normal_form(task, AskedNames::kept).places.empty()) << "a kernel that the user gave has the task's order";
}

TEST(NormalForm, LeavesWhatItDoesNotUnderstand) {
  for (const char* body : {"for i in range(3):;    x = x + 1;return x", "return torch.fft.fft(x).abs()", "return x[0]",
                           "if x.sum() > 0:;    return x;return -x", "return undefined(x)", "return x if x else x",
                           "return torch.softmax(x, 0)", "return x.sum(0, keepdim=True) + x", ""}) {
    const Task task = task_of({"x:f32[rows,cols]>y:f32[rows,cols]", body, ""});
    const NormalForm form = normal_form(task);
    EXPECT_FALSE(form.changed) << body << "\n" << form.task.pytorch;
    EXPECT_EQ(form.task.pytorch, task.pytorch);
  }
}

// A person who asks reads which construct it was, and where.
TEST(NormalForm, NamesWhatItDoesNotUnderstand) {
  struct Case {
    const char* body;
    const char* named;
  };
  for (const Case& each : {
           Case{"for i in range(3):;    x = x + 1;return x", "`for` (line 2)"},
           Case{"z = x;if z.sum() > 0:;    return x;return -x", "`if` (line 3)"},
           Case{"return x if x else x", "`if` (line 2)"},
           Case{"x @= x;return x", "`x @= x` (line 2)"},
           Case{"return x ? 1", "`return x ? 1` (line 2)"},
           Case{"y = x;z = (y +\n    1", "`z = (y +` (line 3)"},
           Case{"y = x + 1", "a function without `return`"},
           Case{"z = torch.relu(x);return torch.fft.fft(z).abs()", "`torch.fft.fft` (line 3)"},
           Case{"return torch.nn.functional.unfold(x, 3)", "`torch.nn.functional.unfold` (line 2)"},
           Case{"return (x + 1).median(0)", "`.median` (line 2)"},
           Case{"return undefined(x)", "`undefined` (line 2)"},
           Case{"return x + undefined", "`undefined` (line 2)"},
           Case{"return x[0]", "`x[0]` (line 2)"},
           Case{"return x / x.size(-1)", "`x.size(-1)` as a number (line 2)"},
           Case{"return torch.softmax(x,\n    0)", "this use of `torch.softmax(x, 0)` (line 2)"},
           Case{"return x", "this use of `x`"},
           Case{"y = x.cumsum(-1);return y + torch.softmax(x, -1)",
                "`.cumsum` and `torch.softmax` in one task (line 3)"},
           Case{"return torch.softmax(x @ x, -1)", "`x @ x` and `torch.softmax` in one task (line 2)"},
           Case{"return x, x", "2 results for 1 outputs (line 2)"},
       }) {
    const NormalForm form = normal_form(task_of({"x:f32[rows,cols]>y:f32[rows,cols]", each.body, ""}));
    EXPECT_EQ(form.not_understood, std::string("the agents' normal form does not know ") + each.named) << each.body;
    EXPECT_EQ(description_of(form), form.not_understood + "; the question is given to the model as written");
  }
  const NormalForm turned = normal_form(task_of({"x:f32[a,b,c]>y:f32[c,b,a]", "return x.permute(2, 1, 0) + 1", ""}));
  EXPECT_EQ(turned.not_understood, "the agents' normal form does not know anything that follows `.permute` (line 2)");
  Task two = task_of({"x:f32[rows,cols]>y:f32[rows,cols]", "return x, -x", ""});
  two.outputs.push_back(two.outputs[0]);
  EXPECT_EQ(normal_form(two).not_understood, "the agents' normal form does not know a task with several outputs");
  const NormalForm known = normal_form(task_of({"x:f32[rows,cols]>y:f32[rows,cols]", "return torch.relu(x)", ""}));
  EXPECT_EQ(known.not_understood, "");
}

// Calls that PyTorch would refuse are PyTorch's to refuse.
TEST(NormalForm, LeavesCallsThatMakeNoSense) {
  for (const char* body :
       {"return torch.permute()", "return torch.view()", "return torch.reshape()", "return F.mse_loss()",
        "return torch.max()", "return torch.transpose(x)", "return torch.permute(dims=[1, 0], input=x)",
        "return torch.where(x > 0)", "return torch.einsum(\"ij,jk->ik\")", "return torch.einsum(\"\", x, x)",
        "return torch.einsum(\",->\", x, x)", "return torch.einsum(\"ii,ij->ij\", x, x)", "return torch.cat()",
        "return x.gather()", "return F.conv2d(x, x)"}) {
    const Task task = task_of({"x:f32[rows,cols]>y:f32[rows,cols]", body, ""});
    const NormalForm form = normal_form(task);
    EXPECT_FALSE(form.changed) << body << "\n" << form.task.pytorch;
    EXPECT_EQ(form.task.pytorch, task.pytorch);
  }
}

TEST(NormalForm, PhrasingsKeepTheirMeaningSlow) {
  for (const PhrasingCase& phrasing : phrasing_cases) {
    const Task task = task_of(phrasing);
    const NormalForm form = normal_form(task);
    if (form.changed) expect_same_meaning(task, form);
  }
}

TEST(NormalForm, SuiteKeepsItsMeaningSlow) {
  const auto suite = load_suite(std::filesystem::path(KW_SOURCE_ROOT) / "tasks");
  ASSERT_TRUE(suite.ok());
  int changed = 0;
  for (const SuiteEntry& entry : *suite) {
    ASSERT_TRUE(entry.task.ok());
    const NormalForm form = normal_form(*entry.task);
    if (!form.changed) continue;
    ++changed;
    expect_same_meaning(*entry.task, form);
  }
  EXPECT_GE(changed, 40);
}

constexpr const char* fixed_gate = R"(pytorch: |
  def reference(gate, up):
      return gate * torch.sigmoid(gate) * up
inputs:
  gate: {dtype: float32, shape: [64, 1000]}
  up: {dtype: float32, shape: [64, 1000]}
outputs:
  y: {dtype: float32, shape: [64, 1000]}
)";

TEST(FixedShapes, AreAskedForWithNamedSizes) {
  const Task task = parse_task(fixed_gate, "gate.yaml").value();
  ASSERT_TRUE(task.size_names.empty());
  const NormalForm form = normal_form(task);
  EXPECT_EQ(form.not_understood, "");
  ASSERT_EQ(form.named_extents.size(), form.task.size_names.size());
  ASSERT_FALSE(form.named_extents.empty());
  for (const NamedExtent& extent : form.named_extents)
    EXPECT_EQ(form.task.parameters()[extent.place].name, extent.name);
  EXPECT_TRUE(normal_form(task, AskedNames::kept).named_extents.empty()) << "a kernel that the user gave has no sizes";
}

TEST(FixedShapes, BecomeConstantsOfTheLauncherAndComeBack) {
  const NormalForm form = normal_form(parse_task(fixed_gate, "gate.yaml").value());
  const std::string asked =
      "__global__ void k() {}\n" + form.task.launcher_declaration() + " {\n  k<<<1, 1, 0, stream>>>();\n}\n";
  const std::string judged = in_task_order(form, asked);
  EXPECT_NE(judged.find("float* y, cudaStream_t stream) {\n  const int "), std::string::npos) << judged;
  for (const NamedExtent& extent : form.named_extents)
    EXPECT_NE(judged.find(extent.name + " = " + std::to_string(extent.value)), std::string::npos) << judged;
  EXPECT_EQ(in_asked_order(form, judged), asked);
  // What is no launcher of ours stays, and one without the line gets parameters all the same.
  EXPECT_EQ(in_task_order(form, "extern \"C\" void launch(int a);"), "extern \"C\" void launch(int a);");
  const std::string own = "extern \"C\" void launch(const float* a, const float* b, float* y, cudaStream_t s) {}";
  EXPECT_NE(in_asked_order(form, own).find("int "), std::string::npos);
}

TEST(FixedShapes, WindowsStayNumbers) {
  const Task task = parse_task(R"(pytorch: |
  def reference(x, w):
      return torch.nn.functional.conv2d(x, w)
inputs:
  x: {dtype: float32, shape: [16, 32, 20, 24]}
  w: {dtype: float32, shape: [48, 32, 3, 3]}
outputs:
  y: {dtype: float32, shape: [16, 48, 18, 22]}
)",
                               "conv.yaml")
                        .value();
  const NormalForm form = normal_form(task);
  EXPECT_EQ(form.not_understood, "");
  ASSERT_EQ(form.task.inputs.size(), 2u);
  EXPECT_EQ(form.task.inputs[1].shape[2].text(), "3");
  EXPECT_EQ(form.named_extents.size(), 5u);
}

// A local that is used twice, thirty times over, would be a text of a gigabyte.
TEST(NormalForm, AGraphIsNotWrittenOutWithoutBound) {
  Task task;
  task.pytorch = "def reference(x):\n";
  for (int i = 0; i < 30; ++i) task.pytorch += "    x = torch.tanh(x) + torch.sin(x)\n";
  task.pytorch += "    return x\n";
  task.inputs = {{"x", Dtype::float32, {Expression::parse("n").value()}, {}}};
  task.outputs = {{"y", Dtype::float32, {Expression::parse("n").value()}, {}}};
  task.size_names = {"n"};
  task.sizes_small = {{{"n", 3}}};
  EXPECT_FALSE(normal_form(task).changed);
}

}  // namespace
}  // namespace kw
