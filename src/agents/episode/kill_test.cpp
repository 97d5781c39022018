// kill -9 in the middle: the store has what was taken, and who goes on ends where an undisturbed run ends.

#include <unistd.h>
#include <csignal>

#include <cstring>
#include <fstream>
#include <iostream>
#include <thread>

#include "agents/episode/episode_test_support.h"
#include "agents/episode/killed_child.h"
#include "base/child_process.h"
#include "base/random.h"

namespace kw {
namespace {

constexpr int conversations = 8;
// Only for a child that never ends.
const ChildLimits patient{.wall = std::chrono::hours(1), .cpu = {}, .memory_bytes = {}};

// Conversations of different lengths: what is said depends on the sampling seed as well.
std::string uneven_script(const ScriptedQuestion& question) {
  if (question.seed % 5 == 0) return "I have no idea.";
  return row_sum_script(question);
}

std::vector<Episode> converse(EpisodeStore* store, const std::filesystem::path& cache, std::int64_t kill_at) {
  EngineOptions options = engine_options();
  options.store = store;
  options.model = "a script";
  options.in_flight = 3;
  options.episode.turns = 4;
  options.episode.samples = 2;
  std::int64_t events = 0;
  const auto event = [&] {
    if (++events == kill_at) ::kill(::getpid(), SIGKILL);
  };
  EpisodeHooks hooks;
  hooks.on_token = [&](const Episode&, const Turn&, const TokenEvent&) { event(); };
  hooks.on_answer = [&](const Episode&, const Turn&, std::size_t) { event(); };
  hooks.on_verdict = [&](const Episode&, const Turn&, std::size_t) { event(); };
  hooks.on_turn = [&](const Episode&) { event(); };

  JudgeOptions judging = test_judge().options();
  judging.cache = true;  // or else each start would judge everything again
  judging.cache_folder = cache;
  Judge judge(test_service(), judging);
  ScriptedDecoder decoder(test_dialect(), uneven_script);
  Rollout rollout(decoder, &test_dialect().tokenizer());
  auto engine =
      EpisodeEngine::make(rollout, test_dialect(), judge, [](AgentRole) { return 0; }, options, std::move(hooks));
  std::vector<EpisodeRequest> requests;
  const auto task = shared_task("row_sum");
  for (std::uint64_t i = 0; i < conversations; ++i) requests.push_back({i, task, "", i % 4 == 3 ? task->naive : ""});
  return (*engine)->run(requests).value();
}

std::string all_of(const std::vector<Episode>& episodes) {
  std::string text;
  for (const Episode& episode : episodes) text += reproducible(episode) + "\n";
  return text;
}

std::vector<std::string> child_arguments(const std::filesystem::path& folder, std::int64_t kill_at) {
  return {std::filesystem::read_symlink("/proc/self/exe").string(), "--killed-child", (folder / "store.db").string(),
          std::to_string(kill_at), (folder / "out.json").string()};
}

std::int64_t stored_turns(const std::filesystem::path& folder) {
  auto store = EpisodeStore::open(folder / "store.db");
  EXPECT_TRUE(store.ok()) << to_string(store.error());
  std::int64_t turns = 0;
  const std::vector<StoredSummary> list = (*store)->list().value();
  for (const StoredSummary& summary : list) turns += summary.turns;
  return turns;
}

const std::string& undisturbed(const std::filesystem::path& cache) {
  static const std::string text = all_of(converse(nullptr, cache, 0));
  return text;
}

TEST(KilledConversationsSlow, GoOnAndEndAsIfUndisturbed) {
  TemporaryFolder folder;
  const std::string& expected = undisturbed(folder.path() / "verdicts");
  Random random(20261115);
  std::int64_t turns = 0;
  int killed = 0;
  for (;; ++killed) {
    ASSERT_LT(killed, 200);
    const auto outcome = run_child({child_arguments(folder.path(), random.integer(20, 2500)), "", "", {}}, patient);
    ASSERT_TRUE(outcome.ok());
    const std::int64_t now = stored_turns(folder.path());
    EXPECT_GE(now, turns) << "what was stored is lost";
    turns = now;
    if (outcome->succeeded()) break;
    ASSERT_EQ(outcome->end, ChildEnd::signalled) << outcome->error_output;
    ASSERT_EQ(outcome->signal_number, SIGKILL) << outcome->error_output;
  }
  EXPECT_GE(killed, 3);
  EXPECT_EQ(*read_file(folder.path() / "out.json"), expected);
}

// From outside, at any moment: also in the middle of a transaction.
TEST(KilledConversationsSlow, FromOutside) {
  TemporaryFolder folder;
  const std::string& expected = undisturbed(folder.path() / "verdicts");
  Random random(7);
  for (int kills = 0; kills < 12; ++kills) {
    const auto limit = std::chrono::milliseconds(random.integer(100, 2500));
    ChildLimits limits;
    limits.wall = limit;
    const auto outcome = run_child({child_arguments(folder.path(), 0), "", "", {}}, limits);
    ASSERT_TRUE(outcome.ok());
    if (outcome->succeeded()) break;
    ASSERT_EQ(outcome->end, ChildEnd::deadline) << outcome->error_output;
  }
  const auto outcome = run_child({child_arguments(folder.path(), 0), "", "", {}}, patient);
  ASSERT_TRUE(outcome.ok() && outcome->succeeded()) << outcome->error_output;
  EXPECT_EQ(*read_file(folder.path() / "out.json"), expected);
}

}  // namespace

std::optional<int> run_if_killed_child(int argc, char** argv) {
  if (argc != 5 || std::strcmp(argv[1], "--killed-child") != 0) return std::nullopt;
  const std::filesystem::path file = argv[2];
  auto store = EpisodeStore::open(file);
  if (!store.ok()) {
    std::cerr << to_string(store.error()) << "\n";
    return 1;
  }
  const auto episodes = converse(store->get(), file.parent_path() / "verdicts", std::stoll(argv[3]));
  return write_file_atomic(argv[4], all_of(episodes)).ok() ? 0 : 1;
}

}  // namespace kw
