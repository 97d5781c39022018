#include "learn/sft/supervised.h"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "base/interrupt.h"
#include "learn/sft/lesson_feed.h"
#include "model/decoder/cpu_trainer.h"
#include "model/decoder/noted_trainer_for_tests.h"
#include "model/decoder/pass_work.h"
#include "model/decoder/presets.h"
#include "model/distributed/ranks_for_tests.h"
#include "model/distributed/shared_run.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

// What was logged, as the run store would keep it.
class LogInMemory : public RunLog {
 public:
  Result<void> metrics(std::int64_t step, const Metrics& metrics) override {
    for (const auto& [name, value] : metrics)
      if (name == "sft/loss" || name == "sft/grad_norm" || name == "exam/correct")
        lines.emplace_back(step, name, value);
    for (const auto& [name, value] : metrics) latest[name] = value;
    return {};
  }
  Result<void> text(std::int64_t, std::string_view, std::string_view) override { return {}; }
  Result<void> flush() override { return {}; }
  Result<void> set_configuration(const nlohmann::ordered_json&) override { return {}; }
  Result<void> finish(std::string_view, const nlohmann::ordered_json&) override { return {}; }
  std::vector<std::tuple<std::int64_t, std::string, double>> lines;
  std::map<std::string, double> latest;
};

struct Classroom {
  ThreadTeam team{1};
  Dialect dialect;
  LessonStream lessons;
  ModelDescription model;

  static Classroom make() {
    LessonPlan plan;
    plan.families = {Family::elementwise, Family::reduce_last};
    const auto texts = vocabulary_texts(plan, 300);
    auto tokenizer = train_compact_tokenizer(std::vector<std::string_view>(texts.begin(), texts.end()), 1024);
    EXPECT_TRUE(tokenizer.ok());
    ModelDescription model = *preset_description("tiny-1m", static_cast<std::int64_t>(tokenizer->size()));
    model.layers = 2;
    Dialect dialect = *Dialect::make(std::move(*tokenizer));
    LessonStream lessons = *LessonStream::make(dialect, nullptr, plan);
    return {.dialect = std::move(dialect), .lessons = std::move(lessons), .model = model};
  }

  std::unique_ptr<Trainer> trainer() { return *make_cpu_trainer(team, initial_parameters(team, model, 3), {}, {}, {}); }
};

fs::path fresh_folder(const std::string& name) {
  const fs::path folder = fs::path(testing::TempDir()) / ("supervised_" + name);
  fs::remove_all(folder);
  return folder;
}

SupervisedOptions short_run() {
  SupervisedOptions options;
  options.steps = 9;
  options.batch_tokens = 600;
  options.log_every = 2;
  options.checkpoint_every = 4;
  options.evaluations = 0;
  return options;
}

std::vector<float> values_of(Trainer& trainer, const ModelDescription& model) {
  Parameters parameters(model);
  EXPECT_TRUE(trainer.read_parameters(parameters).ok());
  return parameters.values;
}

const auto base_alone = [](AgentRole) { return std::int32_t{-1}; };

TEST(LessonFeed, HandsOutTheSameLessonsWhateverTheNumberOfThreads) {
  const Classroom room = Classroom::make();
  LessonFeed one(room.lessons, room.dialect, 5, 1), three(room.lessons, room.dialect, 5, 3);
  for (int i = 0; i < 200; ++i) {
    const auto a = one.next(), b = three.next();
    ASSERT_TRUE(a.ok() && b.ok());
    EXPECT_EQ(a->index, b->index);
    EXPECT_EQ(a->tokens, b->tokens);
    EXPECT_EQ(one.position(), three.position());
  }
}

TEST(Supervised, LossFallsFromThatOfAGuess) {
  Classroom room = Classroom::make();
  const auto trainer = room.trainer();
  SupervisedOptions options = short_run();
  options.steps = 40;
  options.checkpoint_every = 0;
  Checkpoints checkpoints = *Checkpoints::open(fresh_folder("loss"));
  LogInMemory log;
  const auto summary =
      train_supervised(*trainer, room.lessons, room.dialect, base_alone, options, checkpoints, log, {});
  ASSERT_TRUE(summary.ok()) << to_string(summary.error());
  EXPECT_GT(std::get<2>(log.lines.front()), 6.0);  // log(1024) is 6.9
  EXPECT_LT(summary->last.loss, 5.0);
}

// One process with as many slots is what any number of ranks must end with.
struct RankRun {
  std::vector<float> values;
  LogInMemory log;
};

RankRun run_by_ranks(int size, const fs::path& folder, SupervisedOptions options, std::int64_t stop_after = 0) {
  RankRun ended;
  SupervisedHooks hooks;
  hooks.progress = [&](const SupervisedProgress& now) {
    if (now.step == stop_after) raise(SIGINT);
  };
  const auto learn = [&](Communicator* ranks) {
    Classroom room = Classroom::make();
    TrainingOptions training;
    training.ranks = ranks;
    const auto trainer = *make_cpu_trainer(room.team, initial_parameters(room.team, room.model, 3), {}, training, {});
    Checkpoints checkpoints = *first_then_others(ranks, [&] { return Checkpoints::open(folder); });
    LogInMemory log;
    SupervisedOptions with_ranks = options;
    with_ranks.ranks = ranks;
    const auto summary =
        train_supervised(*trainer, room.lessons, room.dialect, base_alone, with_ranks, checkpoints, log, hooks);
    ASSERT_TRUE(summary.ok()) << to_string(summary.error());
    if (!is_first(ranks)) return;
    ended.values = values_of(*trainer, room.model);
    ended.log = log;
  };
  if (size == 0) {
    learn(nullptr);
  } else {
    with_ranks(size, [&](Communicator& ranks) { learn(&ranks); });
  }
  return ended;
}

TEST(SupervisedRanks, AnyNumberEndsWithTheSameBitsAndLogsTheSame) {
  SupervisedOptions options = short_run();
  options.slots = 4;
  const RankRun expected = run_by_ranks(0, fresh_folder("ranks_alone"), options);
  ASSERT_FALSE(expected.log.lines.empty());
  for (const int size : {1, 2, 3}) {
    const RankRun found = run_by_ranks(size, fresh_folder("ranks_" + std::to_string(size)), options);
    EXPECT_TRUE(found.values == expected.values) << size;
    EXPECT_EQ(found.log.lines, expected.log.lines) << size;
  }
}

// A trainer may send gradients while the last of a step's backward passes computes them. Those before a step is made of
// minutes are thrown away: none is the last.
TEST(SupervisedRanks, TheLastBackwardOfAStepIsAnnounced) {
  Classroom room = Classroom::make();
  const auto trainer = room.trainer();
  for (const bool by_minutes : {false, true}) {
    NotedTrainer noted(*trainer);
    SupervisedOptions options = short_run();
    options.slots = 4;
    options.pass_tokens = std::max<std::int64_t>(options.batch_tokens / 3, room.lessons.longest());
    options.steps = by_minutes ? 0 : 3;
    options.minutes = by_minutes ? 0.002 : 0;
    Checkpoints checkpoints = *Checkpoints::open(fresh_folder(by_minutes ? "announced_minutes" : "announced"));
    LogInMemory log;
    const auto summary = train_supervised(noted, room.lessons, room.dialect, base_alone, options, checkpoints, log, {});
    ASSERT_TRUE(summary.ok()) << to_string(summary.error());
    const std::vector<std::string> steps = noted.steps();
    ASSERT_FALSE(steps.empty());
    for (std::size_t i = by_minutes ? 1 : 0; i < steps.size(); ++i)
      EXPECT_TRUE(last_is_announced(steps[i])) << steps[i];
    EXPECT_TRUE(steps.front().ends_with("lb")) << "behind trials: " << steps.front();
    EXPECT_EQ(std::ranges::count(steps.front(), 'l'), 1);
  }
}

// Begun by two ranks, gone on with by one process that does not say how many slots there were.
TEST(SupervisedRanks, ARunGoesOnWithAnotherNumberOfRanks) {
  SupervisedOptions options = short_run();
  options.slots = 4;
  const RankRun expected = run_by_ranks(0, fresh_folder("ranks_undisturbed"), options);
  const fs::path folder = fresh_folder("ranks_resumed");
  install_interrupt_handling();
  const RankRun stopped = run_by_ranks(2, folder, options, 4);
  clear_interrupt();
  EXPECT_FALSE(stopped.values == expected.values);
  options.slots = 0;
  EXPECT_TRUE(run_by_ranks(0, folder, options).values == expected.values);
}

TEST(SupervisedRanks, OtherSlotsThanTheRunsAreRefused) {
  Classroom room = Classroom::make();
  const fs::path folder = fresh_folder("ranks_slots");
  SupervisedOptions options = short_run();
  options.slots = 4;
  run_by_ranks(0, folder, options);
  options.slots = 8;
  Checkpoints checkpoints = *Checkpoints::open(folder);
  LogInMemory log;
  const auto refused =
      train_supervised(*room.trainer(), room.lessons, room.dialect, base_alone, options, checkpoints, log, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("began with 4 slots"), std::string::npos);
}

// Stopped after a checkpoint that is not at a point where something is logged, and gone on with by another process.
TEST(Supervised, ResumedIsBitForBitUndisturbed) {
  Classroom room = Classroom::make();
  LogInMemory log, log_resumed;
  const auto undisturbed = room.trainer();
  Checkpoints checkpoints = *Checkpoints::open(fresh_folder("undisturbed"));
  ASSERT_TRUE(
      train_supervised(*undisturbed, room.lessons, room.dialect, base_alone, short_run(), checkpoints, log, {}).ok());

  const fs::path folder = fresh_folder("resumed");
  {
    const auto first = room.trainer();
    Checkpoints saved = *Checkpoints::open(folder);
    SupervisedHooks stop;
    SupervisedOptions options = short_run();
    options.checkpoint_every = 5;
    stop.progress = [](const SupervisedProgress& now) {
      if (now.step == 6) raise(SIGINT);
    };
    install_interrupt_handling();
    const auto summary =
        train_supervised(*first, room.lessons, room.dialect, base_alone, options, saved, log_resumed, stop);
    clear_interrupt();
    ASSERT_TRUE(summary.ok() && summary->interrupted);
    EXPECT_EQ(summary->last.step, 6);
  }
  const auto second = room.trainer();
  Checkpoints saved = *Checkpoints::open(folder);
  ASSERT_TRUE(
      train_supervised(*second, room.lessons, room.dialect, base_alone, short_run(), saved, log_resumed, {}).ok());
  EXPECT_EQ(values_of(*second, room.model), values_of(*undisturbed, room.model));
  EXPECT_EQ(log_resumed.lines, log.lines);
}

// Half an exam is not logged, and an exam that was held keeps its score when the run is stopped right after it.
TEST(Supervised, AnInterruptedExamIsHeldWhenTheRunGoesOn) {
  Classroom room = Classroom::make();
  SupervisedOptions options = short_run();
  options.steps = 8;
  options.evaluations = 2;
  options.checkpoint_every = 0;
  SupervisedHooks hooks;
  hooks.evaluate = [](std::int64_t step) -> Result<Evaluation> {
    const auto at = static_cast<double>(step);
    return Evaluation{.score = 1 / at, .metrics = {{"exam/correct", at}}, .line = ""};
  };
  LogInMemory log, log_resumed;
  const auto undisturbed = room.trainer();
  Checkpoints checkpoints = *Checkpoints::open(fresh_folder("examined"));
  ASSERT_TRUE(
      train_supervised(*undisturbed, room.lessons, room.dialect, base_alone, options, checkpoints, log, hooks).ok());

  const fs::path folder = fresh_folder("examined_resumed");
  install_interrupt_handling();
  const std::int64_t middle = options.steps / 2;
  // In the exam, right after it, in the last exam.
  for (const auto& [stop_at, during] : {std::pair(middle, true), {middle, false}, {options.steps, true}}) {
    const auto trainer = room.trainer();
    Checkpoints saved = *Checkpoints::open(folder);
    SupervisedHooks stop = hooks;
    stop.evaluate = [&](std::int64_t step) {
      if (during && step == stop_at) raise(SIGINT);
      return hooks.evaluate(step);
    };
    stop.evaluated = [&](std::int64_t step, const Evaluation&) {
      if (!during && step == stop_at) raise(SIGINT);
    };
    const auto summary =
        train_supervised(*trainer, room.lessons, room.dialect, base_alone, options, saved, log_resumed, stop);
    clear_interrupt();
    ASSERT_TRUE(summary.ok() && summary->interrupted);
    EXPECT_EQ(summary->last.step, stop_at);
  }
  const auto last = room.trainer();
  Checkpoints saved = *Checkpoints::open(folder);
  ASSERT_TRUE(train_supervised(*last, room.lessons, room.dialect, base_alone, options, saved, log_resumed, hooks).ok());
  EXPECT_EQ(values_of(*last, room.model), values_of(*undisturbed, room.model));
  EXPECT_EQ(log_resumed.lines, log.lines);
  EXPECT_EQ((*saved.best())->step, (*checkpoints.best())->step);
}

TEST(Supervised, SmallPassesGiveTheSameStepAsOneLargePass) {
  Classroom room = Classroom::make();
  std::vector<double> norms;
  for (const std::int64_t pass : {2048, 65536}) {
    const auto trainer = room.trainer();
    SupervisedOptions options = short_run();
    options.steps = 1;
    options.batch_tokens = 6000;
    options.pass_tokens = pass;
    options.log_every = 1;
    options.checkpoint_every = 0;
    Checkpoints checkpoints = *Checkpoints::open(fresh_folder("passes"));
    LogInMemory log;
    ASSERT_TRUE(train_supervised(*trainer, room.lessons, room.dialect, base_alone, options, checkpoints, log, {}).ok());
    norms.push_back(std::get<2>(log.lines.back()));
  }
  EXPECT_NEAR(norms[0], norms[1], 1e-4 * norms[1]);
}

// How long it takes is not known beforehand, but how much work it is.
TEST(Supervised, MfuIsTheWorkByTimeAndPeak) {
  Classroom room = Classroom::make();
  const auto trainer = room.trainer();
  SupervisedOptions options = short_run();
  options.steps = options.log_every = 2;
  options.checkpoint_every = 0;
  options.model = &room.model;
  options.peak_flops = 1e9;
  Checkpoints checkpoints = *Checkpoints::open(fresh_folder("mfu"));
  LogInMemory log;
  ASSERT_TRUE(train_supervised(*trainer, room.lessons, room.dialect, base_alone, options, checkpoints, log, {}).ok());
  const double seconds = log.latest.at("timing_s/train"), tokens = log.latest.at("sft/tokens");
  const double flops = log.latest.at("perf/mfu") * seconds * options.peak_flops;
  // Three times two operations for each weight of the layers and token; logits of answers and attention come on top.
  double least = 0;
  for (int p = 0; p < projection_count; ++p) {
    const ProjectionShape shape = projection_shape(room.model, static_cast<Projection>(p));
    least += 6 * tokens * static_cast<double>(room.model.layers * shape.out * shape.in);
  }
  EXPECT_GT(flops, least);
  EXPECT_LT(flops, 6 * tokens * token_flops(room.model, 2048) / 2);
  // Without a peak nothing is claimed.
  options.peak_flops = 0;
  const auto again = room.trainer();
  Checkpoints others = *Checkpoints::open(fresh_folder("mfu_without"));
  LogInMemory silent;
  ASSERT_TRUE(train_supervised(*again, room.lessons, room.dialect, base_alone, options, others, silent, {}).ok());
  EXPECT_FALSE(silent.latest.contains("perf/mfu"));
}

}  // namespace
}  // namespace kw
