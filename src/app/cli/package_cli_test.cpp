// package as a person uses it: one file made of agents that were never trained, and used in their place.

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

const std::string kernel = std::string(KW_SOURCE_ROOT) + "/examples/row_sum_warp.cu";

class PackageCommand : public testing::Test {
 protected:
  PackageCommand() {
    const Tokenizer tokenizer = train_compact_tokenizer({*read_file(kernel)}, 300).value();
    ThreadTeam team(1);
    const auto description = preset_description("tiny-1m", static_cast<std::int64_t>(tokenizer.size())).value();
    EXPECT_TRUE(save_model(folder_.path() / "model", initial_parameters(team, description, 1), &tokenizer).ok());
  }

  std::string at(const std::string& name) const { return (folder_.path() / name).string(); }

  ChildOutcome run(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), KW_PROGRAM);
    auto outcome = run_child({arguments, "", "", {"KERNELWRIGHT_CACHE=" + at("cache")}},
                             {.wall = std::chrono::hours(1), .cpu = {}, .memory_bytes = {}});
    EXPECT_TRUE(outcome.ok()) << to_string(outcome.error());
    return std::move(outcome).value();
  }

  TemporaryFolder folder_;
};

TEST_F(PackageCommand, AgentsFromTheFileAnswerAsFromTheFolder) {
  const auto packed = run({"package", at("model"), "-o", at("agents.kwz"), "--json"});
  ASSERT_EQ(packed.exit_code, 0) << packed.error_output;
  const Json json = Json::parse(packed.output);
  EXPECT_EQ(json["base"], "carried");
  EXPECT_EQ(json["bytes"], std::filesystem::file_size(at("agents.kwz")));
  const auto tokens = [&](const std::string& model) {
    const auto said = run({"optimize", "row_sum", "--model", model, "--device", "cpu", "--backend", "emulator",
                           "--max-tokens", "16", "--turns", "1", "--samples", "2", "--json", "--kernel", kernel});
    EXPECT_EQ(said.exit_code, 0) << said.error_output;
    return Json::parse(said.output)["turns"][0]["samples"];
  };
  const Json expected = tokens(at("model"));
  ASSERT_EQ(expected.size(), 2u);
  EXPECT_EQ(tokens(at("agents.kwz")), expected);
  // Commands about models take it, too.
  EXPECT_EQ(Json::parse(run({"model", "info", "--json", at("agents.kwz")}).output)["parameters"],
            Json::parse(run({"model", "info", "--json", at("model")}).output)["parameters"]);
}

TEST_F(PackageCommand, DamagedPackagesAreRefusedWithTheReason) {
  ASSERT_EQ(run({"package", at("model"), "-o", at("agents.kwz")}).exit_code, 0);
  const auto good = run({"package", "--check", at("agents.kwz")});
  EXPECT_EQ(good.exit_code, 0) << good.error_output;
  EXPECT_NE(good.output.find("every byte is as it was packed"), std::string::npos);
  std::string bytes = *read_file(at("agents.kwz"));
  bytes[bytes.size() / 2] ^= 1;
  ASSERT_TRUE(write_file_atomic(at("flipped.kwz"), bytes).ok());
  ASSERT_TRUE(write_file_atomic(at("short.kwz"), bytes.substr(0, bytes.size() / 2)).ok());
  for (const auto& [name, reason] : {std::pair("flipped.kwz", "does not have the SHA-256"), {"short.kwz", "fewer"}}) {
    for (const auto& command : {std::vector<std::string>{"package", "--check", at(name)},
                                {"evaluate", at(name), "--device", "cpu"},
                                {"generate", "softmax", "--model", at(name)}}) {
      const auto refused = run(command);
      EXPECT_EQ(refused.exit_code, 2) << command[0];
      EXPECT_NE(refused.error_output.find(reason), std::string::npos) << refused.error_output;
    }
  }
}

TEST_F(PackageCommand, SaysWhatIsMissing) {
  EXPECT_NE(run({"package", at("model")}).error_output.find("-o agents.kwz"), std::string::npos);
  EXPECT_EQ(run({"package", at("nothing"), "-o", at("agents.kwz")}).exit_code, 2);
  EXPECT_FALSE(std::filesystem::exists(at("agents.kwz")));
}

}  // namespace
}  // namespace kw
