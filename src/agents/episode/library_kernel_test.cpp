#include "agents/episode/library_kernel.h"

#include <fmt/format.h>

#include "agents/episode/conversation_page.h"
#include "agents/episode/episode_test_support.h"

namespace kw {
namespace {

std::shared_ptr<Task> row_sum_without_naive() {
  auto task = std::make_shared<Task>(suite_task("row_sum"));
  task->naive = task->naive_file = "";
  return task;
}

EpisodeRequest request_of(std::shared_ptr<const Task> task, LibraryUse library) {
  EpisodeRequest request;
  request.task = std::move(task);
  request.library = library;
  return request;
}

std::string fast_script(const ScriptedQuestion&) { return RowSum().fast; }

EngineOptions two_turns() {
  EngineOptions options = engine_options();
  options.episode.turns = 2;
  return options;
}

TEST(LibraryKernel, IsTheBaselineOfATaskWithoutANaiveKernel) {
  const Episode episode =
      Scripted(fast_script).run_one(request_of(row_sum_without_naive(), LibraryUse::baseline), two_turns());
  ASSERT_TRUE(episode.library);
  EXPECT_EQ(episode.library->problem, "");
  EXPECT_EQ(naive_baseline(episode), Baseline::library);
  EXPECT_EQ(episode.request.task->naive, episode.library->kernel);
  ASSERT_TRUE(episode.best);
  const Verdict& best = verdict_of(episode, *episode.best);
  ASSERT_TRUE(best.speedup_naive);
  // Times are modelled from blocks at secret places, which are others for a baseline.
  EXPECT_NEAR(*best.speedup_naive, *episode.library->verdict->time_us / *best.time_us, 1e-3);
  EXPECT_EQ(writer_of(episode, *episode.best), KernelWriter::agent);
  const auto json = to_json(episode);
  EXPECT_EQ(json["baseline"]["name"], "library");
  EXPECT_EQ(json["baseline"]["writer"], "library");
  EXPECT_EQ(json["best"]["writer"], "agent");
  EXPECT_EQ(json["given"], nullptr) << "nobody began with it";
  EXPECT_NE(library_text(episode).find("Speedups are stated against the library's kernel ("), std::string::npos);
  const std::string page = conversation_page(episode, {});
  EXPECT_NE(page.find(fmt::format("{:.2f} x library", *best.speedup_naive)), std::string::npos);
}

TEST(LibraryKernel, IsWhatAConversationMayBeginWith) {
  const Episode episode =
      Scripted(fast_script).run_one(request_of(row_sum_without_naive(), LibraryUse::begin), two_turns());
  EXPECT_EQ(writer_of(episode, -1), KernelWriter::library);
  ASSERT_NE(episode.given_verdict, nullptr);
  EXPECT_NEAR(episode.given_verdict->speedup_naive.value_or(0), 1, 1e-3);
  EXPECT_EQ(episode.turns.at(0).role, AgentRole::optimizer);
  EXPECT_EQ(purpose_of(episode, episode.turns[0]), "improves the library's kernel");
  EXPECT_EQ(to_json(episode)["given"]["writer"], "library");
}

TEST(LibraryKernel, LeavesATasksOwnNaiveKernelWhereItIs) {
  const auto task = shared_task("row_sum");
  const Episode stated = Scripted(fast_script).run_one(request_of(task, LibraryUse::baseline), two_turns());
  EXPECT_FALSE(stated.library) << "nothing was to be written";
  EXPECT_EQ(naive_baseline(stated), Baseline::naive);
  const Episode begun = Scripted(fast_script).run_one(request_of(task, LibraryUse::begin), two_turns());
  EXPECT_EQ(begun.request.task->naive, task->naive);
  EXPECT_EQ(naive_baseline(begun), Baseline::naive);
  EXPECT_EQ(writer_of(begun, -1), KernelWriter::library);
  EXPECT_EQ(to_json(begun)["baseline"]["writer"], "user");
}

TEST(LibraryKernel, OfWhatIsNotUnderstoodThereIsNone) {
  const auto task = row_sum_without_naive();
  task->pytorch =
      "def reference(x):\n    total = x[:, 0]\n    for i in range(1, x.shape[1]):\n        total = total + x[:, i]\n"
      "    return total\n";
  const Episode episode = Scripted(fast_script).run_one(request_of(task, LibraryUse::begin), two_turns());
  ASSERT_TRUE(episode.library);
  EXPECT_TRUE(episode.library->problem.starts_with("The library has no kernel for this task: "))
      << episode.library->problem;
  EXPECT_EQ(episode.given_verdict, nullptr);
  EXPECT_TRUE(episode.request.task->naive.empty());
  ASSERT_TRUE(episode.best) << "the conversation goes on without it";
  EXPECT_FALSE(verdict_of(episode, *episode.best).speedup_naive);
  EXPECT_EQ(to_json(episode)["baseline"], nullptr);
}

TEST(LibraryKernel, ThatIsNotRightChangesNothing) {
  Episode episode;
  episode.request = request_of(row_sum_without_naive(), LibraryUse::begin);
  episode.library = library_kernel(*episode.request.task);
  ASSERT_FALSE(episode.library->kernel.empty()) << episode.library->problem;
  const auto with = task_with_library(episode.request.task, episode.library->kernel);
  EXPECT_EQ(with->naive, episode.library->kernel);
  auto verdict = std::make_shared<Verdict>();
  verdict->status = VerdictStatus::unsupported;
  verdict->summary = "too much work for the emulator.";
  take_library_kernel(episode, with, verdict);
  EXPECT_EQ(library_text(episode),
            "The library's kernel is not used, it was judged unsupported: too much work for the emulator.");
  EXPECT_TRUE(episode.request.task->naive.empty());
  EXPECT_TRUE(episode.request.kernel.empty());
  EXPECT_EQ(naive_baseline(episode), Baseline::naive);
}

}  // namespace
}  // namespace kw
