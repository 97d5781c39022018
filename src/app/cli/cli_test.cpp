// The program as a person or a script uses it: arguments in, output and exit code out.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/child_process.h"
#include "base/file.h"

namespace kw {
namespace {

using Json = nlohmann::json;

ChildOutcome run(std::vector<std::string> arguments, const std::string& input = "", const std::string& folder = "") {
  arguments.insert(arguments.begin(), KW_PROGRAM);
  auto outcome =
      run_child({arguments, input, folder, {}}, {.wall = std::chrono::hours(1), .cpu = {}, .memory_bytes = {}});
  EXPECT_TRUE(outcome.ok()) << to_string(outcome.error());
  return std::move(outcome).value();
}

const std::string root = KW_SOURCE_ROOT;
const std::string good_kernel = root + "/examples/softmax_shared.cu";

TEST(CommandLine, HelpAndBadUsage) {
  EXPECT_EQ(run({"--help"}).exit_code, 0);
  EXPECT_NE(run({"compile", "--help"}).output.find("Examples:"), std::string::npos);
  for (const std::vector<std::string>& bad : {std::vector<std::string>{},
                                              {"no_such"},
                                              {"compile"},
                                              {"compile", "softmax"},
                                              {"compile", "softmax", "--whole-program", good_kernel},
                                              {"compile", "--whole-program", good_kernel, "-Xcompiler", "-fplugin=x"},
                                              {"compile", "--whole-program", "/no/such.cu"},
                                              {"tasks"},
                                              {"tasks", "list", "--tier", "9"},
                                              {"compile", "softmax", "/no/such.cu"},
                                              {"compile", "no_such_task", good_kernel},
                                              {"compile", "softmax", good_kernel, "--arch", "sm_1"},
                                              {"plan", "softmax", good_kernel, "--size", "rows"},
                                              {"plan", "softmax", good_kernel, "--size", "rows=7"},
                                              {"plan", "softmax", "/"},
                                              {"tasks", "show", "no_such"}}) {
    const auto outcome = run(bad);
    EXPECT_EQ(outcome.exit_code, 2) << testing::PrintToString(bad) << outcome.output << outcome.error_output;
    EXPECT_FALSE(outcome.error_output.empty()) << testing::PrintToString(bad);
  }
}

TEST(CommandLine, TrainingThatCannotBeIsRefusedBeforeItBegins) {
  const std::string out = testing::TempDir() + "refused_training";
  for (const std::vector<std::string>& bad :
       {std::vector<std::string>{"--steps", "0", "--minutes", "0", "--model", "tiny-1m"},
        {"--steps", "1", "--model", "no_such"},
        {"--steps", "1", "--lessons", "no_such=1"},
        {"--steps", "1", "--model", "tiny", "--method", "qlora"},
        {"--steps", "1", "--model", "tiny", "--lessons", "optimise=1"}}) {
    std::vector<std::string> arguments{"train", "sft", out};
    arguments.insert(arguments.end(), bad.begin(), bad.end());
    const auto refused = run(arguments);
    EXPECT_EQ(refused.exit_code, 2) << bad.back() << refused.error_output;
    EXPECT_FALSE(std::filesystem::exists(out + "/agents"));
  }
}

TEST(CommandLine, DataIsShownAndBadStreamsAreRefused) {
  const auto shown = run({"data", "show", "--family", "softmax", "--level", "warp", "--count", "2", "--json"});
  ASSERT_EQ(shown.exit_code, 0) << shown.error_output;
  const Json examples = Json::parse(shown.output);
  ASSERT_EQ(examples.size(), 2u);
  for (const Json& example : examples) {
    EXPECT_NE(example["kernel"].get<std::string>().find("__shfl_xor_sync"), std::string::npos);
    EXPECT_NE(example["operation"].get<std::string>().find("torch.softmax"), std::string::npos);
    const TemporaryFolder folder;
    const auto file = folder.path() / "drawn.yaml";
    ASSERT_TRUE(write_file_atomic(file, example["task"].dump()).ok());
    const auto task = run({"tasks", "show", file.string()});
    EXPECT_EQ(task.exit_code, 0) << "a task file for every other command: " << task.error_output;
  }
  EXPECT_EQ(run({"data", "families"}).exit_code, 0);
  for (const std::vector<std::string>& bad : {std::vector<std::string>{"data", "show", "--family", "no_such"},
                                              {"data", "show", "--family", "logsumexp"},
                                              {"data", "show", "--split", "suite"},
                                              {"data", "show", "--level", "no_such"},
                                              {"data", "stats", "/no/such"}})
    EXPECT_EQ(run(bad).exit_code, 2) << testing::PrintToString(bad);
}

TEST(CommandLine, ErrorsAreJsonWhenAskedFor) {
  const auto outcome = run({"compile", "soft", good_kernel, "--json"});
  EXPECT_EQ(outcome.exit_code, 2);
  const Json json = Json::parse(outcome.output);
  EXPECT_NE(json["error"]["advice"].get<std::string>().find("softmax"), std::string::npos);
}

// Who names a GPU wants that one: the emulator is no answer.
TEST(CommandLine, WholeProgramsNeedNvcc) {
  const auto without = run_child(
      {{KW_PROGRAM, "compile", "--whole-program", "-"}, "int main() {}\n", "", {"KERNELWRIGHT_NVCC=/no/such/nvcc"}},
      {.wall = std::chrono::hours(1), .cpu = {}, .memory_bytes = {}});
  ASSERT_TRUE(without.ok());
  EXPECT_EQ(without->exit_code, 2);
  EXPECT_NE(without->error_output.find("/no/such/nvcc"), std::string::npos) << without->error_output;
  const auto outcome = run({"compile", "--whole-program", "-", "--json"}, "__global__ void f(int* x) { *x = y; }\n");
  if (outcome.exit_code == 2) GTEST_SKIP() << outcome.output;
  EXPECT_EQ(outcome.exit_code, 1) << outcome.error_output;
  const Json json = Json::parse(outcome.output);
  EXPECT_FALSE(json["compiled"].get<bool>());
  EXPECT_EQ(json["diagnostics"][0]["line"], 1);
  EXPECT_EQ(json["diagnostics"][0]["column"], 34);
  EXPECT_EQ(json["diagnostics"][0]["message"], "identifier \"y\" is undefined");
}

TEST(CommandLine, AGpuThatIsNotThereIsAnError) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"judge", "softmax", good_kernel, "--gpu", "77"},
        {"judge", "softmax", good_kernel, "--gpu", "-1"},
        {"doctor", "--gpu", "-1"},
        {"train", "sft", testing::TempDir() + "no_gpu", "--gpu", "-1", "--steps", "1", "--model", "tiny-1m"}}) {
    const auto outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << testing::PrintToString(arguments) << outcome.output;
    EXPECT_NE(outcome.error_output.find("there is no "), std::string::npos) << outcome.error_output;
  }
}

TEST(CommandLine, RunsFromAnyFolderWithoutEnvironment) {
  const auto outcome = run_child({{"/usr/bin/env", "-i", KW_PROGRAM, "tasks", "list"}, "", "/", {}});
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->exit_code, 0) << outcome->error_output;
  EXPECT_NE(outcome->output.find("softmax"), std::string::npos);
}

TEST(CommandLine, ListsAndShowsTasks) {
  const Json all = Json::parse(run({"tasks", "list", "--json"}).output);
  EXPECT_GE(all.size(), 80u);
  const Json held_out = Json::parse(run({"tasks", "list", "--split", "holdout", "--json"}).output);
  EXPECT_GE(held_out.size(), 16u);
  const Json softmax = Json::parse(run({"tasks", "show", "softmax", "--json"}).output);
  EXPECT_EQ(softmax["launcher"],
            "extern \"C\" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream)");
}

TEST(CommandLine, PlansALauncher) {
  const auto outcome = run({"plan", "softmax", good_kernel, "--size", "rows=7,cols=129", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output << outcome.error_output;
  const std::string text = outcome.output;
  EXPECT_NE(text.find("softmax_row<64>"), std::string::npos) << text;
  EXPECT_EQ(run({"plan", "softmax", good_kernel}).exit_code, 0);
  const auto bad =
      run({"plan", "softmax", "-"},
          "extern \"C\" void launch(const float* x, float* y, int rows, int cols, cudaStream_t s) { system(\"x\"); }");
  EXPECT_EQ(bad.exit_code, 1);
  EXPECT_NE(bad.error_output.find("system"), std::string::npos) << bad.error_output;
}

TEST(CommandLine, CompilesWithResourcesAndFromTheCache) {
  const auto outcome = run({"compile", "softmax", good_kernel, "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output << outcome.error_output;
  const Json json = Json::parse(outcome.output);
  EXPECT_EQ(json["status"], "built");
  EXPECT_EQ(json["kernels"].size(), 3u);
  EXPECT_GT(json["kernels"][0]["registers"].get<int>(), 8);
  EXPECT_GT(json["kernels"][0]["occupancy"].get<double>(), 0.2);
  EXPECT_TRUE(Json::parse(run({"compile", "softmax", good_kernel, "--json"}).output)["from_cache"].get<bool>());
}

TEST(CommandLine, WritesPtxAndCubin) {
  const TemporaryFolder folder;
  const std::string ptx = (folder.path() / "k.ptx").string(), cubin = (folder.path() / "k.cubin").string();
  ASSERT_EQ(run({"compile", "softmax", good_kernel, "--arch", "sm_80", "--ptx", ptx, "--cubin", cubin}).exit_code, 0);
  EXPECT_NE(read_file(ptx)->find(".target sm_80"), std::string::npos);
  EXPECT_EQ(read_file(cubin)->substr(1, 3), "ELF");
}

TEST(CommandLine, SaysWhereACompileErrorIs) {
  const auto outcome = run({"compile", "add", "-", "--json"},
                           "__global__ void k(const float* a, const float* b, float* c, int n) {\n"
                           "  int i = threadIdx.x;\n"
                           "  if (i < n) c[i] = a[i] + bb[i];\n"
                           "}\n"
                           "extern \"C\" void launch(const float* a, const float* b, float* c, int n, cudaStream_t s) "
                           "{ k<<<1, 32, 0, s>>>(a, b, c, n); }\n");
  EXPECT_EQ(outcome.exit_code, 1);
  const Json json = Json::parse(outcome.output);
  EXPECT_EQ(json["status"], "compile_error");
  EXPECT_EQ(json["diagnostics"][0]["line"], 3);
  EXPECT_EQ(json["diagnostics"][0]["column"], 28) << json.dump(2);
}

// Any file at all gets a clear verdict: 1, or 2 when it cannot be read as a kernel file.
TEST(CommandLine, AnyFileGetsAVerdict) {
  const TemporaryFolder folder;
  const std::vector<std::pair<std::string, std::string>> files = {
      {"empty.cu", ""},
      {"binary.cu", std::string("\x7f"
                                "ELF\0\0\1\2\xff\xfe",
                                10)},
      {"script.cu", "#!/bin/sh\nrm -rf /\n"},
      {"no_launcher.cu", "int main() { return 0; }\n"},
      {"deep.cu", std::string(200000, '(')},
      {"line.cu", "int x = " + std::string(900000, '1') + ";"},
      {"big.cu", std::string(50u << 20, 'x')},
      {"utf8.cu", "__global__ void k() { \xc3\x28 }"},
  };
  for (const auto& [name, bytes] : files) {
    const std::string path = (folder.path() / name).string();
    ASSERT_TRUE(write_file_atomic(path, bytes).ok());
    for (const std::string command : {"compile", "plan"}) {
      const auto outcome = run({command, "add", path});
      EXPECT_TRUE(outcome.exit_code == 1 || outcome.exit_code == 2)
          << name << " " << command << " " << outcome.exit_code;
      EXPECT_EQ(outcome.end, ChildEnd::exited) << name;
      EXPECT_LT(outcome.wall_s, 5) << name;
      EXPECT_FALSE((outcome.output + outcome.error_output).empty()) << name;
      EXPECT_LT((outcome.output + outcome.error_output).size(), 100000u) << name;
    }
    // The judge has a verdict for each.
    const auto judged = run({"judge", "add", path, "--json"});
    EXPECT_EQ(judged.exit_code, 1) << name << judged.output << judged.error_output;
    const Json verdict = Json::parse(judged.output, nullptr, false);
    ASSERT_TRUE(verdict.is_object() && verdict.contains("status")) << name << judged.output;
    EXPECT_TRUE(verdict["status"] == "rejected" || verdict["status"] == "launcher_error") << name << verdict["status"];
    EXPECT_LT(judged.wall_s, 2) << name;
  }
}

TEST(CommandLine, JudgesAKernel) {
  const std::string naive = root + "/tasks/relu/naive.cu";
  const auto good = run({"judge", "relu", naive, "--json"});
  EXPECT_EQ(good.exit_code, 0) << good.output << good.error_output;
  const Json json = Json::parse(good.output);
  for (const char* key :
       {"status", "compiled", "correct", "cases", "findings", "resources", "time_us", "time_source", "time_interval_us",
        "speedup_naive", "speedup_pytorch", "limiter", "hot_lines", "risk", "flags", "feedback"})
    EXPECT_TRUE(json.contains(key)) << key;
  EXPECT_EQ(json["status"], "correct");
  EXPECT_TRUE(json["findings"].empty());
  EXPECT_TRUE(json["speedup_pytorch"].is_null());

  const auto table = run({"judge", "relu", naive});
  EXPECT_EQ(table.exit_code, 0);
  EXPECT_NE(table.output.find("█"), std::string::npos) << table.output;

  EXPECT_EQ(run({"judge", "relu", root + "/tests/exploits/skips_large_sizes.cu"}).exit_code, 1);
  EXPECT_EQ(run({"judge", "relu"}).exit_code, 2);
  EXPECT_EQ(run({"judge", "relu", naive, "--profile", "no_such_device"}).exit_code, 2);
  EXPECT_EQ(run({"judge", "relu", naive, "--backend", "gpu"}).exit_code, 2);
  EXPECT_EQ(run({"judge", "relu", "/no/such/file.cu"}).exit_code, 2);
}

TEST(CommandLine, CalibratesAProfile) {
  const TemporaryFolder folder;
  const std::string measured = (folder.path() / "times.jsonl").string();
  const std::string out = (folder.path() / "mine.yaml").string();
  std::string lines;
  for (const char* task : {"softplus", "gelu", "sigmoid"})
    for (const auto& [kernel, us] : {std::pair("naive", 80.0), std::pair("optimised", 70.0)}) {
      const char* size = std::string(task) != "sigmoid" ? R"({"n": 16777216})" : R"({"cols": 4096, "rows": 4096})";
      lines += std::string(R"({"task": ")") + task + R"(", "kernel": ")" + kernel + R"(", "size": )" + size +
               R"(, "us": )" + std::to_string(us) + "}\n";
    }
  lines += R"({"task": "relu", "kernel": "tests/exploits/no_such_file.cu", "size": {"n": 16777216}, "us": 80})";
  ASSERT_TRUE(write_file_atomic(measured, lines).ok());
  const auto good = run({"calibrate", "--measured", measured, "--out", out, "--folds", "2", "--json"});
  ASSERT_EQ(good.exit_code, 0) << good.output << good.error_output;
  const Json json = Json::parse(good.output);
  EXPECT_GE(json["times"], 4) << json;
  EXPECT_GE(json["left_out"].size(), 1u);
  EXPECT_TRUE(json["full_sizes"]["held_out"].contains("mean_percent"));
  EXPECT_NE(read_file(out)->find("fitted:"), std::string::npos);
  EXPECT_EQ(run({"calibrate", "--measured", "/no/such/file"}).exit_code, 2);
  ASSERT_TRUE(write_file_atomic(measured, R"({"task": "relu"})").ok());
  EXPECT_EQ(run({"calibrate", "--measured", measured}).exit_code, 2);
}

TEST(CommandLine, TaskFromAFileWithAnInlineKernel) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "mine.yaml").string();
  const std::string naive = *read_file(root + "/examples/new_task/naive.cu");
  std::string indented;
  std::istringstream lines(naive);
  for (std::string line; std::getline(lines, line);) indented += "  " + line + "\n";
  ASSERT_TRUE(
      write_file_atomic(path,
                        "name: mine\ntier: 0\npytorch: \"def reference(x): return 2 * x\"\n"
                        "inputs:  {x: {dtype: float32, shape: [n]}}\noutputs: {y: {dtype: float32, shape: [n]}}\n"
                        "sizes:   {small: [{n: 1001}], train: [{n: 16777216}], holdout: [{n: 9999999}]}\nnaive: |\n" +
                            indented)
          .ok());
  const auto outcome = run({"tasks", "check", path});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output << outcome.error_output;
}

TEST(CommandLine, DoctorNamesEveryPart) {
  const auto outcome = run({"doctor", "--json"});
  const Json json = Json::parse(outcome.output);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_TRUE(json["works"].get<bool>());
  EXPECT_GE(json["parts"].size(), 9u);
}

TEST(CommandLineSlow, EveryTaskOfTheSuitePasses) {
  const auto outcome = run({"tasks", "check"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
}

}  // namespace
}  // namespace kw
