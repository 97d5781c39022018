// kill -9 in the middle: who goes on ends with the same bits, and holds no conversation twice.

#include <unistd.h>
#include <csignal>

#include <atomic>
#include <cstring>
#include <fstream>
#include <iostream>

#include "base/child_process.h"
#include "base/hash.h"
#include "base/random.h"
#include "learn/rl/killed_run.h"
#include "learn/rl/reinforce_test_support.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

// Only for a child that never ends.
const ChildLimits patient{.wall = std::chrono::hours(1), .cpu = {}, .memory_bytes = {}};

Result<void> go_on(const fs::path& folder, std::int64_t kill_at, std::int64_t ahead) {
  const auto learner = test_learner(false, nullptr, ahead > 0);
  ReinforceOptions options = short_run(Algorithm::dapo);
  options.ahead = ahead;
  options.episode.turns = 2;
  options.update.mini_batches = 2;
  options.conversations = folder / "conversations";
  std::atomic<std::int64_t> events = 0;  // of both threads, where steps are held ahead
  const auto event = [&] {
    if (++events == kill_at) ::kill(::getpid(), SIGKILL);
  };
  ReinforceHooks hooks;
  hooks.pay = [&](const Episode& episode, const Turn& turn, TurnSample& sample) {
    event();
    pay_for_low_tokens(episode, turn, sample);
  };
  hooks.episode.on_token = [&](const Episode&, const Turn&, const TokenEvent&) { event(); };
  hooks.episode.on_turn = [&](const Episode& episode) {
    // What a step asked for, to see that nothing is asked for twice.
    std::ofstream(folder / "turns", std::ios::app) << episode.request.number << " " << episode.turns.size() << " "
                                                   << sha256_hex(episode.request.task->name) << "\n";
    event();
  };
  hooks.progress = [&](const ReinforceProgress&) { event(); };
  KW_TRY(Checkpoints checkpoints, Checkpoints::open(folder / "checkpoints"));
  KW_TRY(const auto latest, checkpoints.latest());
  RunLogOptions log_options;
  log_options.folder = folder / "log";
  log_options.name = "log";
  log_options.kind = "rl";
  log_options.resume_after_step = latest ? latest->step : -1;
  log_options.restart = !latest;
  KW_TRY(const auto log, RunLog::open(log_options));
  KW_TRY(
      [[maybe_unused]] const ReinforceSummary summary,
      reinforce({.policy = *learner}, test_judge(), test_pool(), test_curriculum(), options, checkpoints, *log, hooks));
  const std::vector<float> weights = weights_of(*learner);
  const std::string_view bytes(reinterpret_cast<const char*>(weights.data()), weights.size() * sizeof(float));
  return write_file_atomic(folder / "weights", sha256_hex(bytes));
}

// All that was logged and does not depend on the clock.
std::string log_of(const fs::path& folder) {
  std::istringstream lines(file_text(folder / "log" / "metrics.jsonl"));
  std::string text, line;
  while (std::getline(lines, line)) {
    const auto json = nlohmann::ordered_json::parse(line);
    for (const auto& [name, value] : json.items())
      if (!is_timing(name)) text += name + " " + value.dump() + "\n";
  }
  return text;
}

std::vector<std::string> arguments_for(const fs::path& folder, std::int64_t kill_at, std::int64_t ahead) {
  return {fs::read_symlink("/proc/self/exe").string(), "--killed-run", folder.string(), std::to_string(kill_at),
          std::to_string(ahead)};
}

struct Undisturbed {
  std::string weights, log;
  std::size_t turns = 0;
};

std::size_t lines_of(const fs::path& file) {
  const std::string text = file_text(file);
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

Undisturbed undisturbed(std::int64_t ahead) {
  TemporaryFolder folder;
  const auto ended = run_child({arguments_for(folder.path(), 0, ahead), "", "", {}}, patient);
  EXPECT_TRUE(ended.ok() && ended->succeeded()) << (ended.ok() ? ended->error_output : "");
  return {file_text(folder.path() / "weights"), log_of(folder.path()), lines_of(folder.path() / "turns")};
}

// Killed again and again, until it comes to its end.
void expect_same_bits_after_kills(std::int64_t ahead) {
  const Undisturbed expected = undisturbed(ahead);
  TemporaryFolder folder;
  Random random(20261116);
  int killed = 0;
  for (;; ++killed) {
    ASSERT_LT(killed, 60);
    const auto ended = run_child({arguments_for(folder.path(), random.integer(40, 260), ahead), "", "", {}}, patient);
    ASSERT_TRUE(ended.ok());
    if (ended->succeeded()) break;
    ASSERT_EQ(ended->end, ChildEnd::signalled) << ended->error_output;
  }
  EXPECT_GE(killed, 3);
  EXPECT_EQ(file_text(folder.path() / "weights"), expected.weights);
  EXPECT_EQ(log_of(folder.path()), expected.log);
}

TEST(KilledRunSlow, GoesOnAndEndsWithTheSameBits) { expect_same_bits_after_kills(0); }

// In the middle of an update, and of conversations that older weights hold.
TEST(KilledRunSlow, AheadTooGoesOnAndEndsWithTheSameBits) {
  for (const std::int64_t ahead : {1, 2}) expect_same_bits_after_kills(ahead);
}

// Every turn that was written down before a kill is read, not taken again.
void expect_no_conversation_twice(std::int64_t ahead) {
  const Undisturbed expected = undisturbed(ahead);
  TemporaryFolder folder;
  ASSERT_TRUE(run_child({arguments_for(folder.path(), 60, ahead), "", "", {}}, patient).ok());
  const std::size_t before = lines_of(folder.path() / "turns");
  EXPECT_GT(before, 0u);
  EXPECT_LT(before, expected.turns);
  const auto ended = run_child({arguments_for(folder.path(), 0, ahead), "", "", {}}, patient);
  ASSERT_TRUE(ended.ok() && ended->succeeded()) << ended->error_output;
  EXPECT_EQ(lines_of(folder.path() / "turns"), expected.turns);
  EXPECT_EQ(file_text(folder.path() / "weights"), expected.weights);
}

TEST(KilledRunSlow, HoldsNoConversationTwice) { expect_no_conversation_twice(0); }

TEST(KilledRunSlow, AheadTooHoldsNoConversationTwice) { expect_no_conversation_twice(1); }

}  // namespace

std::optional<int> run_if_killed_run(int argc, char** argv) {
  if (argc != 5 || std::strcmp(argv[1], "--killed-run") != 0) return std::nullopt;
  const auto done = go_on(argv[2], std::stoll(argv[3]), std::stoll(argv[4]));
  if (!done.ok()) std::cerr << to_string(done.error()) << "\n";
  return done.ok() ? 0 : 1;
}

}  // namespace kw
