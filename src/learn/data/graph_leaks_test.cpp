#include "learn/data/graph_leaks.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/hash.h"
#include "kernel/task/task_json.h"
#include "learn/data/program_trial.h"

namespace kw {
namespace {

// A folder as an import leaves it, with this task in it.
void plant(const std::filesystem::path& folder, Task task, const std::string& name) {
  task.name = name;
  task.family = "kernelbench";
  std::filesystem::create_directories(folder / name);
  ASSERT_TRUE(write_file_atomic(folder / name / "task.yaml", task_json(task).dump(1)).ok());
}

// With a line more and other sizes: the graph is the same.
Task changed(Task task) {
  std::string& text = task.pytorch;
  const auto line = text.find("\n    ");
  text.replace(line, 1, "\n    unused = 1\n");
  for (Sizes* sizes : {&task.sizes_small[0], &task.sizes_small[1], &task.sizes_train[0]})
    for (auto& [name, value] : *sizes) value *= 2;
  return task;
}

TEST(GraphLeaks, AreFoundWhereTheyArePlanted) {
  const TemporaryFolder folder;
  programs::DrawOptions stream;
  stream.seed = 21;
  std::uint64_t several = 0;
  while (programs::draw_program(stream, several).families.size() < 3) ++several;
  plant(folder.path(), changed(programs::draw_program(stream, several).task), "kb2_1_planted");
  const auto held = read_held_problems(folder.path());
  ASSERT_TRUE(held.ok()) << to_string(held.error());
  ASSERT_EQ(held->several.size(), 1U);
  EXPECT_TRUE(held->not_read.empty());
  const auto report = check_stream_graphs(stream, several, 1, *held, 1, {});
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->leaks_found, 1U);
  ASSERT_EQ(report->leaks.size(), 1U);
  EXPECT_NE(report->leaks[0].find("kb2_1_planted"), std::string::npos) << report->leaks[0];
  EXPECT_EQ(check_stream_graphs(stream, several + 1, 1, *held, 1, {})->leaks_found, 0U);
}

TEST(GraphLeaks, OfSingleOperationsAreTheirSizes) {
  const TemporaryFolder folder;
  programs::DrawOptions stream;
  stream.begin_with = {programs::family_named("matrix_vector")};
  std::uint64_t single = 0;
  while (programs::draw_program(stream, single).families.size() > 1) ++single;
  const Task task = programs::draw_program(stream, single).task;
  plant(folder.path(), task, "kb1_1_planted");
  const auto same = read_held_problems(folder.path());
  ASSERT_TRUE(same.ok());
  EXPECT_EQ(same->single.size(), 1U);
  EXPECT_EQ(check_stream_graphs(stream, single, 1, *same, 1, {})->leaks_found, 1U);
  Task larger = task;
  for (auto& [name, value] : larger.sizes_train[0]) value += 1;
  plant(folder.path(), larger, "kb1_1_planted");
  EXPECT_EQ(check_stream_graphs(stream, single, 1, *read_held_problems(folder.path()), 1, {})->leaks_found, 0U);
}

TEST(GraphLeaks, NeedTasks) {
  const TemporaryFolder folder;
  EXPECT_FALSE(read_held_problems(folder.path()).ok());
}

TEST(ProgramTrial, CountsByFamily) {
  const TemporaryFolder folder;
  ProgramTrialOptions options;
  options.stream.begin_with = {programs::family_named("softmax")};
  options.count = 6;
  options.out = folder.path() / "programs";
  options.show_progress = false;
  const auto report = try_programs(nullptr, options);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->all.drawn, 6U);
  EXPECT_EQ(report->all.written, 6U);
  EXPECT_EQ(report->rows.at("softmax").written, 6U);
  EXPECT_EQ(report->all.judged, 0U);
  EXPECT_TRUE(report->failures.empty());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(options.out), {}), 12);
}

}  // namespace
}  // namespace kw
