#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "agents/draw/draw_program.h"
#include "agents/draw/held_graphs.h"
#include "agents/draw/signature.h"
#include "agents/program/evaluate.h"
#include "agents/program/read_program.h"
#include "agents/program/write_program.h"
#include "base/test_length.h"
#include "kernel/judge/judge.h"
#include "kernel/task/input_values.h"
#include "kernel/task/task_file.h"
#include "kernel/task/task_json.h"

namespace kw::programs {
namespace {

DrawOptions beginning_with(const Family* family) {
  DrawOptions options;
  options.seed = 3;
  options.begin_with = {family};
  if (family->novel) options.split = ProgramSplit::novel;
  return options;
}

TEST(DrawnPrograms, OfEveryFamilyAreReadAndWritten) {
  ASSERT_GE(all_families().size(), 60U);
  for (const Family* family : all_families()) {
    const DrawOptions options = beginning_with(family);
    std::set<std::string> texts;
    for (std::uint64_t i = 0; i < 12; ++i) {
      const auto read = read_drawn(options, i);
      ASSERT_TRUE(read.ok()) << family->name << " " << i << ": " << to_string(read.error());
      const Task& task = read->drawn.task;
      const auto& families = read->drawn.families;
      EXPECT_NE(std::find(families.begin(), families.end(), family), families.end());
      for (const Sizes& sizes : task.all_sizes()) {
        EXPECT_TRUE(task.check_sizes(sizes).ok()) << task.pytorch;
        for (const auto& [name, value] : sizes) EXPECT_NE(value % 13, 0) << name;
      }
      const auto kernel = program::write_program(task, read->graph);
      EXPECT_TRUE(kernel.ok()) << family->name << ": " << to_string(kernel.error()) << "\n" << task.pytorch;
      texts.insert(task.pytorch);
    }
    EXPECT_GE(texts.size(), 8U) << family->name;
  }
}

TEST(DrawnPrograms, AreFunctionsOfSeedAndIndexAndSurviveAFile) {
  DrawOptions options, other;
  other.seed = 2;
  int different = 0;
  for (std::uint64_t i = 0; i < 100; ++i) {
    const Task task = draw_program(options, i).task;
    EXPECT_EQ(task_json(task), task_json(draw_program(options, i).task));
    different += draw_program(other, i).task.pytorch != task.pytorch ? 1 : 0;
    const auto again = parse_task(task_json(task).dump(), "program");
    ASSERT_TRUE(again.ok()) << to_string(again.error()) << "\n" << task_json(task).dump(1);
    EXPECT_EQ(again->size_names, task.size_names);
    EXPECT_EQ(again->launcher_declaration(), task.launcher_declaration());
  }
  EXPECT_GE(different, 95);
}

TEST(DrawnPrograms, OfNovelFamiliesAreNotForTraining) {
  DrawOptions options;
  for (std::uint64_t i = 0; i < 2000; ++i)
    for (const Family* family : draw_program(options, i).families) EXPECT_FALSE(family->novel) << family->name;
  options.split = ProgramSplit::novel;
  for (std::uint64_t i = 0; i < 200; ++i) {
    const auto families = draw_program(options, i).families;
    EXPECT_TRUE(std::any_of(families.begin(), families.end(), [](const Family* each) { return each->novel; }));
  }
}

// The graph's own answer at a small size: of the shape that the task says, and numbers.
TEST(DrawnPrograms, HaveAnswers) {
  for (const Family* family : all_families()) {
    for (std::uint64_t i = 0; i < 2; ++i) {
      const auto read = read_drawn(beginning_with(family), 100 + i);
      ASSERT_TRUE(read.ok());
      const Task& task = read->drawn.task;
      const Sizes& sizes = task.sizes_small[0];
      const auto inputs = make_inputs(task, sizes, 5);
      ASSERT_TRUE(inputs.ok());
      const auto answer = program::evaluate_graph(read->graph, sizes, *inputs);
      ASSERT_TRUE(answer.ok()) << to_string(answer.error()) << "\n" << task.pytorch;
      ASSERT_EQ(answer->size(), task.outputs.size());
      for (std::size_t k = 0; k < answer->size(); ++k) {
        EXPECT_EQ((*answer)[k].shape, task.outputs[k].shape_at(sizes).value());
        for (const double each : (*answer)[k].real) ASSERT_TRUE(std::isfinite(each)) << task.pytorch;
      }
    }
  }
}

// y[rows, cols] or what `shape` says, of x[rows, cols] and w[cols, cols].
std::uint64_t signature_of_text(const std::string& body, const std::vector<std::string>& shape = {"rows", "cols"},
                                Dtype dtype = Dtype::float32) {
  Task task;
  task.pytorch = "def reference(x, w):\n    " + body + "\n";
  const auto named = [](const std::string& name) { return Expression::parse(name).value(); };
  task.inputs = {{"x", dtype, {named("rows"), named("cols")}, {}}, {"w", dtype, {named("cols"), named("cols")}, {}}};
  task.outputs = {{"y", dtype, {}, {}}};
  for (const std::string& each : shape) task.outputs[0].shape.push_back(named(each));
  task.size_names = {"rows", "cols"};
  task.sizes_small = task.sizes_train = {{{"rows", 6}, {"cols", 9}}, {{"rows", 8}, {"cols", 7}}};
  const auto graph = program::read_program(task);
  EXPECT_TRUE(graph.ok()) << (graph.ok() ? "" : to_string(graph.error()));
  return graph.ok() ? signature_of(*graph) : 0;
}

TEST(Signatures, AreOfWhatIsComputedAndNotOfHowItIsWritten) {
  const std::uint64_t product = signature_of_text("return torch.relu(x @ w * 2)");
  EXPECT_EQ(product, signature_of_text("h = torch.matmul(x, w)\n    h = 0.7 * h\n    return F.relu(h)"));
  EXPECT_EQ(product, signature_of_text("return torch.relu((x @ w.t()) / 3.0)"));
  EXPECT_EQ(product, signature_of_text("return torch.relu(x @ w * 2)", {"rows", "cols"}, Dtype::float16));
  EXPECT_NE(product, signature_of_text("return torch.relu(x @ w)"));
  EXPECT_NE(product, signature_of_text("return torch.tanh(x @ w * 2)"));
  EXPECT_NE(product, signature_of_text("return torch.relu(x * 2)"));
  EXPECT_EQ(signature_of_text("return F.softsign(x)"), signature_of_text("return x / (1 + torch.abs(x))"));
  EXPECT_EQ(signature_of_text("return x + w.sum(0)"), signature_of_text("return w.sum(0) + x"));
  EXPECT_NE(signature_of_text("return x - x.sum(1, keepdim=True)"),
            signature_of_text("return x - x.amax(1, keepdim=True)"));
  EXPECT_NE(signature_of_text("return torch.cumsum(x, 1)"), signature_of_text("return x.sum(1)", {"rows"}));
  EXPECT_EQ(signature_of_text("return F.max_pool1d(x, 2, 1)", {"rows", "cols - 1"}),
            signature_of_text("return F.max_pool1d(x, 3, 2)", {"rows", "(cols - 3) / 2 + 1"}));
}

// A problem of several operations is not drawn, though its family is: by hand, in the words of a benchmark, and drawn.
TEST(Signatures, OfProblemsAreHeldOut) {
  const auto held = held_graphs();
  EXPECT_GE(held.size(), 100U);
  EXPECT_TRUE(std::is_sorted(held.begin(), held.end()));
  EXPECT_TRUE(is_held_out(signature_of_text("a = torch.abs(x)\n    b = a + 1\n    return x / b")));
  EXPECT_FALSE(is_held_out(signature_of_text("return torch.relu(x)")));
  DrawOptions options;
  for (std::uint64_t i = 0; i < 300; ++i) {
    const auto read = read_drawn(options, i);
    ASSERT_TRUE(read.ok());
    EXPECT_FALSE(is_held_out(read->signature));
  }
}

TEST(DrawnProgramsSlow, HaveKernelsThatTheJudgeFindsRight) {
  CompileService service;
  JudgeOptions judging;
  judging.profile = load_profile("h200").value();
  judging.secret = "a secret for tests";
  judging.cache = false;
  judging.want_time = false;
  judging.unusual_share = 0;
  Judge judge(service, judging);
  const std::size_t step = thorough_tests() ? 1 : 6;
  const auto families = all_families();
  for (std::size_t at = 0; at < families.size(); at += step) {
    const auto read = read_drawn(beginning_with(families[at]), 7);
    ASSERT_TRUE(read.ok());
    const auto kernel = program::write_program(read->drawn.task, read->graph);
    ASSERT_TRUE(kernel.ok());
    const Verdict verdict = judge.judge(read->drawn.task, *kernel, "program.cu");
    EXPECT_TRUE(verdict.correct || verdict.status == VerdictStatus::unsupported)
        << families[at]->name << ": " << verdict.summary << "\n"
        << read->drawn.task.pytorch;
  }
}

}  // namespace
}  // namespace kw::programs
