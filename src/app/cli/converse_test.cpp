// generate, optimize and bench episodes as a person uses them, with a model that was never trained.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "agents/agent/dialect.h"
#include "base/child_process.h"
#include "base/file.h"
#include "model/decoder/model_files.h"
#include "model/decoder/presets.h"

namespace kw {
namespace {

using Json = nlohmann::json;

const std::string root = KW_SOURCE_ROOT;
const std::string kernel = root + "/examples/row_sum_warp.cu";

ChildOutcome run(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), KW_PROGRAM);
  auto outcome = run_child({arguments, "", "", {}}, {.wall = std::chrono::hours(1), .cpu = {}, .memory_bytes = {}});
  EXPECT_TRUE(outcome.ok()) << to_string(outcome.error());
  return std::move(outcome).value();
}

const std::string& untrained_model() {
  static const TemporaryFolder folder;
  static const std::string path = [] {
    const std::string text = *read_file(kernel);
    const Tokenizer tokenizer = train_compact_tokenizer({text}, 300).value();
    ThreadTeam team(1);
    const auto description = preset_description("tiny-1m", static_cast<std::int64_t>(tokenizer.size())).value();
    EXPECT_TRUE(save_model(folder.path(), initial_parameters(team, description, 1), &tokenizer).ok());
    return folder.path().string();
  }();
  return path;
}

std::vector<std::string> optimize(std::vector<std::string> more) {
  std::vector<std::string> arguments{"optimize",     "row_sum", "--model",   untrained_model(),
                                     "--device",     "cpu",     "--backend", "emulator",
                                     "--max-tokens", "16",      "--kernel",  kernel};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

TEST(ConverseCommands, OptimizeAsJson) {
  const TemporaryFolder folder;
  const std::string store = (folder.path() / "store.db").string();
  const auto command = optimize({"--turns", "2", "--samples", "2", "--json", "--store", store});
  const auto outcome = run(command);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.error_output;
  Json json = Json::parse(outcome.output);
  EXPECT_EQ(json["end"], "turns");
  ASSERT_EQ(json["turns"].size(), 2u);
  EXPECT_EQ(json["turns"][0]["role"], "optimizer");
  EXPECT_EQ(json["turns"][0]["samples"].size(), 2u);
  EXPECT_EQ(json["turns"][0]["samples"][0]["tokens"].size(), json["turns"][0]["samples"][0]["log_probs"].size());
  EXPECT_EQ(json["best"]["turn"], -1) << "the given kernel is better than noise";
  EXPECT_TRUE(json["best"]["verdict"]["correct"].get<bool>());
  // The store knows it all.
  Json again = Json::parse(run(command).output);
  EXPECT_EQ(again["resumed_turns"], 2);
  again["resumed_turns"] = json["resumed_turns"];
  EXPECT_EQ(again, json);
}

std::vector<std::string> search(std::vector<std::string> more) {
  std::vector<std::string> arguments{"optimize", "row_sum",     "--backend", "emulator",   "--kernel",
                                     kernel,     "--operators", "constants", "--verdicts", "5"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

TEST(ConverseCommands, OptimizeRefusesBudgetsThatAreNone) {
  for (const std::vector<std::string>& wrong :
       std::vector<std::vector<std::string>>{{"--verdicts", "0"},
                                             {"--verdicts", "99999999999999999999"},
                                             {"--minutes", "nan"},
                                             {"--minutes", "-1"},
                                             {"--filter", "nan"},
                                             {"--looks", "-1"},
                                             {"--measured-share", "nan"},
                                             {"--close-enough", "near"},
                                             {"--patience", "many"}}) {
    std::vector<std::string> arguments{"optimize", "row_sum"};
    arguments.insert(arguments.end(), wrong.begin(), wrong.end());
    const auto outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << wrong[0] << " " << wrong[1];
    EXPECT_NE((outcome.error_output + outcome.output).find("'" + wrong[1] + "' is not a number from"),
              std::string::npos)
        << outcome.error_output << outcome.output;
  }
}

TEST(ConverseCommands, OptimizeWithABudgetSearches) {
  const TemporaryFolder folder;
  const std::string store = (folder.path() / "search.db").string(), best = (folder.path() / "best.cu").string(),
                    html = (folder.path() / "search.html").string();
  const auto outcome = run(search({"--json", "--store", store, "-o", best, "--html", html}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.error_output << outcome.output;
  Json json = Json::parse(outcome.output);
  EXPECT_EQ(json["end"], "verdicts");
  EXPECT_EQ(json["verdicts"], 5);
  EXPECT_EQ(json["candidates"].size(), 5u);
  EXPECT_EQ(json["candidates"][0]["from"], "given");
  EXPECT_EQ(json["candidates"][4]["from"], "constants");
  EXPECT_GT(json["limit"]["us"].get<double>(), 0);
  EXPECT_EQ(*read_file(best), json["best"]["kernel"].get<std::string>());
  EXPECT_NE(read_file(html)->find("Best time"), std::string::npos);
  // The record knows it all.
  Json again = Json::parse(run(search({"--json", "--store", store})).output);
  EXPECT_EQ(again["rounds_before"], json["rounds"]);
  again["rounds_before"] = json["rounds_before"];
  // Seconds pass each time anew.
  again["seconds"] = json["seconds"];
  for (std::size_t i = 0; i < json["gains"].size(); ++i) again["gains"][i]["seconds"] = json["gains"][i]["seconds"];
  EXPECT_TRUE(again == json);
  const std::string said = run(search({"--store", store})).output;
  for (const char* part : {"The device allows", "budget of verdicts is used up", "__global__"})
    EXPECT_NE(said.find(part), std::string::npos) << part << " in " << said;
}

TEST(ConverseCommands, ASearchRefusesWhatItDoesNotKnow) {
  const auto turns = run(search({"--turns", "3"}));
  EXPECT_EQ(turns.exit_code, 2);
  EXPECT_NE(turns.error_output.find("a search has no --turns"), std::string::npos) << turns.error_output;
  EXPECT_NE(run(search({"--operators", "oracle"})).error_output.find("there is no operator"), std::string::npos);
  const auto nothing =
      run({"optimize", "row_sum", "--backend", "emulator", "--operators", "constants", "--verdicts", "5"});
  EXPECT_EQ(nothing.exit_code, 2);
  EXPECT_NE(nothing.error_output.find("there is no kernel that could be changed"), std::string::npos)
      << nothing.error_output;
}

TEST(ConverseCommands, OptimizeForAPerson) {
  const TemporaryFolder folder;
  const std::string page = (folder.path() / "page.html").string(), best = (folder.path() / "best.cu").string();
  const auto outcome = run(optimize({"--turns", "1", "--samples", "1", "--html", page, "-o", best}));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.error_output;
  for (const char* part : {"given kernel", "turn 1: optimizer improves the given kernel", "row_sum_warp", "speedup",
                           "correct: right in all"})
    EXPECT_NE(outcome.output.find(part), std::string::npos) << part << "\n" << outcome.output;
  EXPECT_EQ(*read_file(best), *read_file(kernel));
  EXPECT_NE(read_file(page)->find("improves the given kernel"), std::string::npos);
  for (const char c : outcome.output)
    EXPECT_TRUE(c == '\n' || c == '\t' || static_cast<unsigned char>(c) >= 0x20) << "a control character is printed";
}

TEST(ConverseCommands, GenerateWithoutSuccess) {
  const auto outcome = run({"generate", "relu", "--model", untrained_model(), "--device", "cpu", "--backend",
                            "emulator", "--max-tokens", "16", "--samples", "3"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.error_output;
  EXPECT_NE(outcome.output.find("No kernel is right"), std::string::npos) << outcome.output;
}

// Our own operation, as docs/own-operation.md has it: no naive kernel; with sizes, or of one shape.
std::string own_task(const std::filesystem::path& folder, bool fixed_shape) {
  const std::string shape = fixed_shape ? "[32, 64]" : "[rows, cols]";
  const std::string sizes =
      fixed_shape ? "" : "sizes:\n  small: [{rows: 7, cols: 33}]\n  train: [{rows: 256, cols: 256}]\n";
  std::string file = (folder / "gated.yaml").string();
  const std::string text =
      "pytorch: |\n  def reference(x, gate):\n      return x * torch.sigmoid(gate)\ninputs:\n  x: {dtype: float32, "
      "shape: " +
      shape + "}\n  gate: {dtype: float32, shape: " + shape + "}\noutputs:\n  y: {dtype: float32, shape: " + shape +
      "}\n" + sizes;
  EXPECT_TRUE(write_file_atomic(file, text).ok());
  return file;
}

std::vector<std::string> own_optimize(const std::string& task, std::vector<std::string> more) {
  std::vector<std::string> arguments{
      "optimize", task,           "--model", untrained_model(), "--device", "cpu",       "--backend",
      "emulator", "--max-tokens", "16",      "--turns",         "1",        "--samples", "1"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

TEST(ConverseCommands, ATaskWithoutANaiveKernelIsStatedAgainstTheLibrary) {
  for (const bool fixed_shape : {false, true}) {
    const TemporaryFolder folder;
    const std::string task = own_task(folder.path(), fixed_shape);
    const auto outcome = run(own_optimize(task, {"--json"}));
    const Json json = Json::parse(outcome.output);
    EXPECT_EQ(outcome.exit_code, 1) << "noise is no kernel, and the library's is not the agents'";
    EXPECT_EQ(json["baseline"]["name"], "library") << json["library"]["problem"];
    EXPECT_EQ(json["library"]["verdict"]["status"], "correct");
    EXPECT_EQ(json["best"], nullptr);
    const std::string mine = (folder.path() / "mine.cu").string();
    ASSERT_TRUE(write_file_atomic(mine, json["baseline"]["kernel"].get<std::string>()).ok());
    const auto given = run(own_optimize(task, {"--kernel", mine}));
    EXPECT_EQ(given.exit_code, 0) << given.error_output;
    for (const char* part : {"Speedups are stated against the library's kernel (", "1.00 x library",
                             "1.00 x the library's kernel", "best: the given kernel"})
      EXPECT_NE(given.output.find(part), std::string::npos) << part << "\n" << given.output;
  }
}

TEST(ConverseCommands, AConversationMayBeginWithTheLibrarysKernel) {
  const TemporaryFolder folder;
  const std::string task = own_task(folder.path(), true), page = (folder.path() / "page.html").string();
  const auto outcome = run(own_optimize(task, {"--from", "library", "--html", page}));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.error_output;
  for (const char* part : {"which the conversation begins with", "turn 1: optimizer improves the library's kernel",
                           "best: the library's kernel"})
    EXPECT_NE(outcome.output.find(part), std::string::npos) << part << "\n" << outcome.output;
  EXPECT_NE(read_file(page)->find("improves the library&#39;s kernel"), std::string::npos) << *read_file(page);
}

TEST(ConverseCommands, RefuseBadUsage) {
  for (const std::vector<std::string>& bad :
       {std::vector<std::string>{"generate"},
        {"generate", "no_such_task", "--model", untrained_model()},
        {"generate", "relu", "--model", "/no/such/model"},
        {"generate", "relu", "--model", untrained_model(), "--samples", "0"},
        {"generate", "relu", "--model", untrained_model(), "--turns", "2"},
        {"optimize", "relu", "--model", untrained_model(), "--kernel", "/no/such.cu"},
        {"optimize", "relu", "--model", untrained_model(), "--store", kernel, "--device", "cpu"},
        {"optimize", "relu", "--model", untrained_model(), "--kernel", kernel, "--from", "library"},
        {"optimize", "relu", "--model", untrained_model(), "--from", "worst"}}) {
    const auto outcome = run(bad);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.output << outcome.error_output;
    EXPECT_FALSE(outcome.error_output.empty());
  }
}

TEST(ConverseCommandsSlow, BenchEpisodes) {
  const auto outcome =
      run({"bench", "episodes", "--model", untrained_model(), "--device", "cpu", "--backend", "emulator", "--episodes",
           "8", "--tasks", "4", "--turns", "2", "--max-tokens", "32", "--given", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.error_output;
  const Json json = Json::parse(outcome.output);
  EXPECT_EQ(json["episodes"], 8);
  EXPECT_EQ(json["turns"], 16);
  EXPECT_EQ(json["kernels_judged"], 4) << "each naive kernel once";
  EXPECT_GT(json["utilisation"].get<double>(), 0);
  EXPECT_LE(json["overlap_share"].get<double>(), json["judging_share"].get<double>());
}

}  // namespace
}  // namespace kw
