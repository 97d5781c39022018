// Agents packed, and used from the package.

#include "agents/episode/agent_package.h"

#include <cstdlib>

#include "agents/episode/untrained_agents.h"
#include "agents/package/package_reader.h"
#include "agents/package/package_writer.h"
#include "model/decoder/model_name.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

// With a cache folder of its own.
class AgentPackage : public testing::Test {
 protected:
  AgentPackage() { ::setenv("KERNELWRIGHT_CACHE", (folder_.path() / "cache").c_str(), 1); }
  ~AgentPackage() override { ::unsetenv("KERNELWRIGHT_CACHE"); }

  fs::path at(const std::string& name) const { return folder_.path() / name; }

  PackageManifest pack(const fs::path& agents, bool with_base = false) const {
    auto packed = pack_agents(agents.string(), at("agents.kwz"), with_base);
    EXPECT_TRUE(packed.ok()) << to_string(packed.error());
    return packed.ok() ? std::move(packed).value() : PackageManifest{};
  }
  static bool has(const PackageManifest& manifest, const std::string& name) {
    return std::ranges::any_of(manifest.files, [&](const PackagedFile& file) { return file.name == name; });
  }

  TemporaryFolder folder_;
};

TEST_F(AgentPackage, AgentsFromTheFileSayWhatThoseFromTheFolderSay) {
  const UntrainedAgents agents(at("agents"));
  const PackageManifest manifest = pack(agents.path());
  for (const char* name : {"agents.json", "base/model.safetensors", "base/tokenizer.json", "base/config.json",
                           "adapters/generator/adapter_model.safetensors", "adapters/optimizer/adapter_config.json",
                           "prompts/compact/generator.txt", "prompts/chatml/tester_user.txt"})
    EXPECT_TRUE(has(manifest, name)) << name;
  EXPECT_EQ(manifest.fingerprint, *content_hash(*find_agents(agents.path().string())));
  EXPECT_EQ(manifest.base.name, "");

  const auto from_folder = open_on_cpu(agents.path());
  const auto from_file = open_on_cpu(at("agents.kwz"));
  EXPECT_EQ(from_file->fingerprint(), from_folder->fingerprint());
  const auto expected = babble(*from_folder, {0, 1, 2}, 3);
  const auto said = babble(*from_file, {0, 1, 2}, 3);
  ASSERT_EQ(said.size(), expected.size());
  for (std::size_t i = 0; i < said.size(); ++i) EXPECT_EQ(reproducible(said[i]), reproducible(expected[i]));
}

TEST_F(AgentPackage, SaysWhatTheyLearnedFrom) {
  const UntrainedAgents agents(at("agents"));
  ASSERT_TRUE(write_agents_file(agents.path(), ".", {{AgentRole::generator, "generator"}}, {"kernelbench"}).ok());
  pack(agents.path());
  EXPECT_EQ(find_agents(at("agents.kwz").string()).value().learned_from, std::set<std::string>{"kernelbench"});
}

TEST_F(AgentPackage, PackingAgainGivesTheSameBytes) {
  const UntrainedAgents agents(at("agents"));
  pack(agents.path());
  ASSERT_TRUE(pack_agents(at("agents.kwz").string(), at("again.kwz"), false).ok());
  EXPECT_EQ(*read_file(at("again.kwz")), *read_file(at("agents.kwz")));
}

TEST_F(AgentPackage, ARunBringsItsRecords) {
  const fs::path run = at("run");
  const UntrainedAgents agents(run / "rl" / "agents");
  fs::create_directories(run / "evaluation");
  ASSERT_TRUE(write_file_atomic(run / "config.json", "{}").ok());
  ASSERT_TRUE(write_file_atomic(run / "machine.json", "{}").ok());
  ASSERT_TRUE(write_file_atomic(run / "evaluation" / "rl.json", "{\"correct\": 1}").ok());
  const PackageManifest manifest = pack(run);
  EXPECT_TRUE(has(manifest, "about/config.json"));
  EXPECT_TRUE(has(manifest, "about/evaluation/rl.json"));
  EXPECT_FALSE(has(manifest, "about/machine.json")) << "what the machine was is nobody's business";
  const auto found = find_agents(at("agents.kwz").string());
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(*read_file(found->records / "evaluation" / "rl.json"), "{\"correct\": 1}");
}

TEST_F(AgentPackage, ItsOwnPromptsAreUsed) {
  const UntrainedAgents agents(at("agents"));
  fs::copy(source_root() / "prompts", at("prompts"), fs::copy_options::recursive);
  const fs::path generator = at("prompts") / "compact" / "generator.txt";
  ASSERT_TRUE(write_file_atomic(generator, *read_file(generator) + "quickly").ok());
  ::setenv("KERNELWRIGHT_PROMPTS", at("prompts").c_str(), 1);
  pack(agents.path());
  const std::string asked_so = open_on_cpu(agents.path())->fingerprint();
  ::unsetenv("KERNELWRIGHT_PROMPTS");
  EXPECT_EQ(open_on_cpu(at("agents.kwz"))->fingerprint(), asked_so);
  EXPECT_NE(open_on_cpu(agents.path())->fingerprint(), asked_so);
  // A person's word counts for more.
  ::setenv("KERNELWRIGHT_PROMPTS", (source_root() / "prompts").c_str(), 1);
  EXPECT_NE(open_on_cpu(at("agents.kwz"))->fingerprint(), asked_so);
  ::unsetenv("KERNELWRIGHT_PROMPTS");
}

TEST_F(AgentPackage, NothingOutsideIsReachedThroughAgentsFile) {
  const UntrainedAgents agents(at("agents"));
  const std::string outside = agents.path().string();
  const std::pair<std::string, std::string> bad[] = {{outside, "{}"},
                                                     {"../../../agents", "{}"},
                                                     {smollm2_name, "{}"},
                                                     {".", "{\"generator\": \"" + outside + "/generator\"}"},
                                                     {".", "{\"generator\": \"../../../agents/generator\"}"}};
  fs::create_directories(smollm2_file().parent_path());
  ASSERT_TRUE(write_file_atomic(smollm2_file(), "GGUF").ok());
  for (const auto& [base, adapters] : bad) {
    const std::string text = R"({"format": 1, "base": ")" + base + R"(", "adapters": )" + adapters + "}";
    ASSERT_TRUE(write_package(at("evil.kwz"), {}, std::string(64, 'a'), {{"agents.json", {}, text}}).ok());
    const auto found = find_agents(at("evil.kwz").string());
    ASSERT_FALSE(found.ok()) << text;
    EXPECT_NE(found.error().message.find("the package does not have"), std::string::npos) << found.error().message;
    EXPECT_NE(found.error().where.file.find("evil.kwz"), std::string::npos);
  }
}

TEST_F(AgentPackage, ANamedBaseMustBeTheOneOnThisMachine) {
  const auto package = [&](std::uint64_t bytes, const std::string& base) {
    const std::string text = R"({"format": 1, "base": ")" + base + R"(", "adapters": {}})";
    EXPECT_TRUE(write_package(at("named.kwz"), {smollm2_name, bytes, std::string(64, 'b')}, std::string(64, 'a'),
                              {{"agents.json", {}, text}})
                    .ok());
    return find_agents(at("named.kwz").string());
  };
  const auto missing = package(4, smollm2_name);
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().advice.find("model fetch smollm2-135m"), std::string::npos);
  fs::create_directories(smollm2_file().parent_path());
  ASSERT_TRUE(write_file_atomic(smollm2_file(), "GGUF").ok());
  const auto found = package(4, smollm2_name);
  ASSERT_TRUE(found.ok()) << to_string(found.error());
  EXPECT_EQ(found->base, smollm2_file());
  EXPECT_NE(package(5, smollm2_name).error().message.find("not the one that these agents are for"), std::string::npos);
  EXPECT_FALSE(package(4, "agents.json").ok());
}

TEST_F(AgentPackage, BrokenAgentsAreNotPacked) {
  const UntrainedAgents agents(at("agents"));
  ASSERT_TRUE(write_file_atomic(agents.path() / "generator" / "adapter_model.safetensors", "torn").ok());
  EXPECT_FALSE(pack_agents(agents.path().string(), at("agents.kwz"), false).ok());
  EXPECT_FALSE(fs::exists(at("agents.kwz")));
  EXPECT_FALSE(pack_agents("no such agents", at("agents.kwz"), false).ok());
}

}  // namespace
}  // namespace kw
