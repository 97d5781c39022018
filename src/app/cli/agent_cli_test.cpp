// reward, prompt, answer and report as a person uses them.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/child_process.h"
#include "base/file.h"

namespace kw {
namespace {

using Json = nlohmann::json;

ChildOutcome run(std::vector<std::string> arguments, const std::string& input = "") {
  arguments.insert(arguments.begin(), KW_PROGRAM);
  auto outcome = run_child({arguments, input, "", {}}, {.wall = std::chrono::hours(1), .cpu = {}, .memory_bytes = {}});
  EXPECT_TRUE(outcome.ok()) << to_string(outcome.error());
  return std::move(outcome).value();
}

const std::string root = KW_SOURCE_ROOT;
const std::string verdict = root + "/tests/fuzz/verdict_file_fuzz/row_sum.json";
const std::string naive_verdict = root + "/tests/fuzz/verdict_file_fuzz/naive.json";
const std::string kernel = root + "/examples/row_sum_warp.cu";

TEST(AgentCommands, Reward) {
  const auto table = run({"reward", verdict});
  EXPECT_EQ(table.exit_code, 0) << table.error_output;
  EXPECT_NE(table.output.find("pass_rate"), std::string::npos) << table.output;
  const Json json = Json::parse(run({"reward", "-", "--shape", "final", "--json"}, *read_file(verdict)).output);
  EXPECT_EQ(json["shape"], "final");
  EXPECT_GT(json["total"].get<double>(), 1.0);
  EXPECT_EQ(json["terms"].size(), 4u);
  const Json changed =
      Json::parse(run({"reward", verdict, "--shape", "final", "--weight", "speed=0", "--json"}).output);
  EXPECT_NEAR(changed["total"].get<double>(), json["total"].get<double>() - 0.8, 1e-9);
  const auto same = run({"reward", verdict, "--given", verdict, "--role", "optimizer", "--json"});
  EXPECT_EQ(Json::parse(same.output)["role"], "optimizer");
}

TEST(AgentCommands, RewardRefusesBadUsage) {
  for (const std::vector<std::string>& bad :
       {std::vector<std::string>{"reward"},
        {"reward", "/no/such.json"},
        {"reward", kernel},
        {"reward", verdict, "--shape", "none"},
        {"reward", verdict, "--role", "tester"},
        {"reward", verdict, "--weight", "speed"},
        {"reward", verdict, "--weight", "sped=1"},
        {"reward", verdict, "--weight", "speed=1e9"},
        {"reward", verdict, "--target", "0.5"},
        {"reward", verdict, "--given", naive_verdict},
        {"prompt", "row_sum", "--role", "optimizer"},
        {"prompt", "softmax", "--role", "optimizer", "--kernel", kernel, "--verdict", verdict},
        {"prompt", "no_such"},
        {"answer", "/no/such"},
        {"report", kernel}}) {
    const auto outcome = run(bad);
    EXPECT_EQ(outcome.exit_code, 2) << testing::PrintToString(bad) << outcome.output << outcome.error_output;
    EXPECT_FALSE(outcome.error_output.empty());
  }
}

TEST(AgentCommands, PromptsAreInTheWordsThatWereLearned) {
  const auto learned = run({"prompt", "matmul_bias_relu", "--style", "compact"});
  EXPECT_NE(learned.output.find("r = torch.matmul(a, b_mat)\nreturn torch.relu(r + bias)"), std::string::npos);
  const auto written = run({"prompt", "matmul_bias_relu", "--style", "compact", "--as-written"});
  EXPECT_NE(written.output.find("torch.relu(torch.matmul(a, b) + bias)"), std::string::npos);
}

TEST(AgentCommands, AQuestionThatIsNotUnderstoodIsNamed) {
  const TemporaryFolder folder;
  const std::string task = (folder.path() / "spectrum.yaml").string();
  ASSERT_TRUE(write_file_atomic(task,
                                "pytorch: |\n  def reference(x):\n      z = torch.relu(x)\n"
                                "      return torch.fft.rfft(z).abs()\n"
                                "inputs:\n  x: {dtype: float32, shape: [64, 126]}\n"
                                "outputs:\n  y: {dtype: float32, shape: [64, 64]}\n")
                  .ok());
  const std::string reason = "the agents' normal form does not know `torch.fft.rfft` (line 3)";
  const auto asked = run({"prompt", task, "--style", "compact"});
  EXPECT_EQ(asked.exit_code, 0);
  EXPECT_NE(asked.error_output.find(reason + "; the question is given to the model as written"), std::string::npos);
  EXPECT_EQ(Json::parse(run({"prompt", task, "--json"}).output)["not_understood"], reason);
  EXPECT_EQ(run({"prompt", task, "--as-written"}).error_output, "");
  EXPECT_EQ(run({"prompt", "softmax"}).error_output, "");
  EXPECT_NE(
      run({"generate", task, "--device", "cpu", "--backend", "emulator", "--max-tokens", "4"}).output.find(reason),
      std::string::npos);
}

TEST(AgentCommands, PromptOfEachRole) {
  const auto compact = run({"prompt", "softmax", "--style", "compact"});
  EXPECT_TRUE(compact.output.starts_with("<|gen|>x:f32")) << compact.output << compact.error_output;
  const Json optimizer = Json::parse(
      run({"prompt", "row_sum", "--role", "optimizer", "--kernel", kernel, "--verdict", verdict, "--json"}).output);
  ASSERT_EQ(optimizer["messages"].size(), 2u);
  EXPECT_NE(optimizer["messages"][1]["content"].get<std::string>().find("__shfl"), std::string::npos);
  EXPECT_EQ(run({"prompt", "row_sum", "--role", "tester", "--kernel", kernel}).exit_code, 0);
}

TEST(AgentCommands, AnswerAndReport) {
  const std::string text = "Strategy: warp shuffle.\n```cuda\n" + *read_file(kernel) + "```\n";
  const auto taken = run({"answer", "-"}, text);
  EXPECT_EQ(taken.exit_code, 0);
  EXPECT_EQ(taken.output, *read_file(kernel));
  const auto none = run({"answer", "-", "--json"}, "no");
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_EQ(Json::parse(none.output)["outcome"], "no_code");
  EXPECT_EQ(run({"answer", "-"}, std::string(1 << 20, ' ')).exit_code, 1);
  const auto report = run({"report", verdict, "--kernel", kernel, "--markdown"});
  EXPECT_EQ(report.exit_code, 0) << report.error_output;
  EXPECT_NE(report.output.find("## row\\_sum: correct"), std::string::npos) << report.output;
}

}  // namespace
}  // namespace kw
