#include "learn/lesson/lesson.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "kernel/compile/service.h"
#include "learn/data/store.h"

namespace kw {
namespace {

Dialect dialect_for(const LessonPlan& plan, std::size_t tasks, std::size_t vocabulary) {
  const auto texts = vocabulary_texts(plan, tasks);
  auto tokenizer = train_compact_tokenizer(std::vector<std::string_view>(texts.begin(), texts.end()), vocabulary);
  EXPECT_TRUE(tokenizer.ok());
  return *Dialect::make(std::move(*tokenizer));
}

Dialect compact_dialect() { return dialect_for({}, 400, 1024); }

std::string answer_of(const Lesson& lesson, const Dialect& dialect) {
  return *dialect.tokenizer().decode(std::span(lesson.tokens).subspan(static_cast<std::size_t>(lesson.answer)),
                                     /*skip_special=*/true);
}

std::string prompt_of(const Lesson& lesson, const Dialect& dialect) {
  return *dialect.tokenizer().decode(std::span(lesson.tokens).first(static_cast<std::size_t>(lesson.answer)));
}

TEST(Lesson, IsAFunctionOfSeedAndIndex) {
  const Dialect dialect = compact_dialect();
  const LessonStream one = *LessonStream::make(dialect, nullptr, {}), same = *LessonStream::make(dialect, nullptr, {});
  LessonPlan other_plan;
  other_plan.seed = 2;
  const LessonStream other = *LessonStream::make(dialect, nullptr, other_plan);
  Scribe scribe(dialect), another(dialect);
  int differ = 0;
  for (const std::uint64_t index : {7u, 3u, 3u, 100'000u}) {
    const auto a = *one.at(index, scribe), b = *same.at(index, another), c = *other.at(index, scribe);
    ASSERT_TRUE(a && b && c);
    EXPECT_EQ(a->tokens, b->tokens);
    differ += a->tokens != c->tokens;
  }
  EXPECT_EQ(differ, 4);
}

// What the model is taught to say is what the answer's reader takes, and it ends with the token that stops sampling.
TEST(Lesson, AnswersAreReadAsTheKernelThatWasTaught) {
  const Dialect dialect = compact_dialect();
  const LessonStream lessons = *LessonStream::make(dialect, nullptr, {});
  Scribe scribe(dialect);
  for (std::uint64_t index = 0; index < 300; ++index) {
    const auto lesson = *lessons.at(index, scribe);
    ASSERT_TRUE(lesson);
    EXPECT_EQ(lesson->tokens.back(), dialect.stop_tokens().front());
    const std::string text = answer_of(*lesson, dialect);
    const Answer answer = dialect.read_answer(text, true);
    EXPECT_EQ(answer.outcome, AnswerOutcome::kernel) << answer.message << "\n" << text;
    const auto example = lessons.example_at(index);
    ASSERT_TRUE(example);
    EXPECT_EQ(text + "\n", example->kernel);
    EXPECT_TRUE(prompt_of(*lesson, dialect).starts_with("<|gen|>" + compact_signature(example->drawn.task)));
  }
}

// No structure and no size that is held out is ever taught.
TEST(Lesson, NothingHeldOutIsTaught) {
  const Dialect dialect = compact_dialect();
  const LessonStream lessons = *LessonStream::make(dialect, nullptr, {});
  for (std::uint64_t index = 0; index < 20'000; ++index) {
    const auto example = lessons.example_at(index);
    ASSERT_TRUE(example);
    ASSERT_EQ(split_of(example->drawn.problem), DataSplit::train) << example->drawn.structure;
    ASSERT_EQ(example->drawn.task.split, Split::train);
  }
}

TEST(Lesson, DrillsAreBeginningsOfWholeLessons) {
  LessonPlan plan;
  plan.house_style = plan.formulas = plan.plain_unnamed = 1;
  plan.level_named = 0;
  const Dialect dialect = dialect_for(plan, 400, 1024);
  LessonPlan drilled_plan = plan;
  drilled_plan.drill = 0.5;
  const LessonStream whole = *LessonStream::make(dialect, nullptr, plan);
  const LessonStream drilled = *LessonStream::make(dialect, nullptr, drilled_plan);
  Scribe scribe(dialect);
  int cut = 0;
  for (std::uint64_t index = 0; index < 200; ++index) {
    const auto all = *whole.at(index, scribe), part = *drilled.at(index, scribe);
    ASSERT_TRUE(all && part);
    ASSERT_EQ(all->answer, part->answer);
    ASSERT_LE(part->tokens.size(), all->tokens.size());
    EXPECT_TRUE(std::equal(part->tokens.begin(), part->tokens.end(), all->tokens.begin()));
    if (part->tokens.size() == all->tokens.size()) continue;
    ++cut;
    const std::string text = answer_of(*part, dialect);
    EXPECT_EQ(text.find("__global__"), std::string::npos) << text;
    EXPECT_TRUE(text.ends_with("; }")) << text;
  }
  EXPECT_GT(cut, 60);
  EXPECT_LT(cut, 120);
}

TEST(Lesson, RampBeginsWithShortTasksAndEndsWithAll) {
  const Dialect dialect = compact_dialect();
  LessonPlan plan;
  plan.ramp = 2000;
  const LessonStream ramped = *LessonStream::make(dialect, nullptr, plan);
  const LessonStream plain = *LessonStream::make(dialect, nullptr, {});
  const auto length = [](const LessonStream& lessons, std::uint64_t first) {
    std::size_t all = 0;
    for (std::uint64_t index = first; index < first + 200; ++index) {
      const auto example = lessons.example_at(index);
      EXPECT_EQ(split_of(example->drawn.problem), DataSplit::train);
      // What the audit judges is what was taught.
      EXPECT_EQ(lessons.stream().task_at(example->drawn.index).task.pytorch, example->drawn.task.pytorch);
      all += example->drawn.task.pytorch.size();
    }
    return all;
  };
  EXPECT_LT(length(ramped, 0), length(plain, 0));
  EXPECT_LT(length(ramped, 0), length(ramped, 1000));
  for (std::uint64_t index = 2000; index < 2050; ++index)
    EXPECT_EQ(ramped.example_at(index)->kernel, plain.example_at(index)->kernel);
}

// A function is one token in PyTorch's words and one in CUDA's, and a name is the same token everywhere.
TEST(Lesson, VocabularyIsForTranslating) {
  LessonPlan plan;
  plan.house_style = plan.formulas = plan.plain_unnamed = 1;
  plan.level_named = 0;
  const Dialect dialect = dialect_for(plan, 1500, 2048);
  Scribe scribe(dialect);
  const Tokenizer& tokenizer = dialect.tokenizer();
  for (const char* text : {"torch.tanh(", "tanhf(", "torch.clamp(", "torch.abs("})
    EXPECT_TRUE(tokenizer.find(text).has_value()) << text;
  const std::string text = "torch.tanh(x) + tanhf(x) * x[i]";
  const auto ids = *scribe.answer_ids(AgentRole::generator, text, "");
  EXPECT_EQ(std::ranges::count(ids, *tokenizer.find("x")), 3);
}

TEST(Lesson, RefusesPlansThatCannotBeFollowed) {
  const Dialect dialect = compact_dialect();
  LessonPlan needs_verdicts;
  needs_verdicts.share[1] = 1;
  EXPECT_FALSE(LessonStream::make(dialect, nullptr, needs_verdicts).ok());
  LessonPlan empty;
  empty.share[0] = 0;
  EXPECT_FALSE(LessonStream::make(dialect, nullptr, empty).ok());
}

StoreOptions empty_store(const char* name, std::vector<Family> families) {
  StoreOptions options;
  options.folder = std::filesystem::path(testing::TempDir()) / name;
  std::filesystem::remove_all(options.folder);
  options.stream.families = std::move(families);
  options.show_progress = false;
  return options;
}

Result<StoreSummary> fill(const StoreOptions& options) {
  CompileService service{{}};
  JudgeOptions judge;
  judge.profile = *load_profile("h200");
  return make_store(service, judge, options);
}

// A store that the real judge fills: its verdicts are what the Optimizer is shown.
TEST(LessonSlow, OptimiserAndTesterLearnFromTheJudgesOwnVerdicts) {
  StoreOptions options = empty_store("lesson_store", {Family::softmax, Family::reduce_last});
  options.tasks = 6;
  options.shard_tasks = 3;
  ASSERT_TRUE(fill(options).ok());
  const auto book = JudgedBook::load(options.folder, 1);
  ASSERT_TRUE(book.ok()) << to_string(book.error());
  ASSERT_FALSE(book->improvable().empty());
  ASSERT_FALSE(book->broken().empty());

  const Dialect dialect = compact_dialect();
  LessonPlan plan;
  for (double& share : plan.share) share = 1;
  plan.families = options.stream.families;
  plan.rewrite = 0;
  const LessonStream lessons = *LessonStream::make(dialect, std::make_shared<const JudgedBook>(*book), plan);
  Scribe scribe(dialect);
  std::set<LessonKind> kinds;
  for (std::uint64_t index = 0; index < 60; ++index) {
    const auto lesson = *lessons.at(index, scribe);
    ASSERT_TRUE(lesson);
    kinds.insert(lesson->kind);
    const std::string prompt = prompt_of(*lesson, dialect), answer = answer_of(*lesson, dialect);
    switch (lesson->kind) {
      case LessonKind::generate:
        EXPECT_EQ(prompt.find("<|verdict|>"), std::string::npos);
        break;
      case LessonKind::optimise:
        EXPECT_NE(prompt.find("<|verdict|>correct"), std::string::npos) << prompt;
        EXPECT_EQ(dialect.read_answer(answer, true).outcome, AnswerOutcome::kernel);
        break;
      case LessonKind::repair:
        EXPECT_EQ(prompt.find("<|verdict|>correct"), std::string::npos) << prompt;
        EXPECT_EQ(answer.find("//"), std::string::npos) << answer;
        break;
      case LessonKind::report:
        EXPECT_TRUE(parse_prediction(answer).ok()) << answer;
        break;
    }
  }
  EXPECT_EQ(kinds.size(), 4u);
  plan.generate_first = 40;
  const LessonStream later = *LessonStream::make(dialect, std::make_shared<const JudgedBook>(*book), plan);
  for (std::uint64_t index = 0; index < 60; ++index) {
    if (index < plan.generate_first)
      EXPECT_EQ((*later.at(index, scribe))->kind, LessonKind::generate);
    else
      EXPECT_EQ((*later.at(index, scribe))->tokens, (*lessons.at(index, scribe))->tokens);
  }
}

TEST(LessonSlow, TheOptimiserIsShownTheStyleThatTheGeneratorWrites) {
  StoreOptions options = empty_store("formula_store", {Family::softmax});
  options.tasks = 3;
  options.formulas = 1;
  ASSERT_TRUE(fill(options).ok());
  options.formulas = 0;
  EXPECT_FALSE(fill(options).ok()) << "a store of other texts";
  const auto book = JudgedBook::load(options.folder, 1);
  ASSERT_TRUE(book.ok()) << to_string(book.error());
  for (const JudgedBook::Place place : book->improvable()) {
    const JudgedTask& task = book->task(place);
    const JudgedKernel& kernel = book->kernel(place);
    ASSERT_TRUE(task.drawn);
    EXPECT_EQ(kernel.text, book->stream().kernel_for(*task.drawn, kernel.level, formula_style));
  }

  const Dialect dialect = compact_dialect();
  LessonPlan plan;
  plan.share[0] = 0;
  plan.share[1] = plan.share[2] = 1;
  plan.families = options.stream.families;
  plan.house_style = plan.formulas = plan.rewrite = 1;
  plan.unjudged = 0;
  const LessonStream lessons = *LessonStream::make(dialect, std::make_shared<const JudgedBook>(*book), plan);
  Scribe scribe(dialect);
  std::set<std::string> texts;
  for (const JudgedBook::Place place : book->all())
    texts.insert(book->stream().kernel_for(*book->task(place).drawn, book->kernel(place).level, formula_style));
  for (std::uint64_t index = 0; index < 30; ++index) {
    const auto lesson = *lessons.at(index, scribe);
    ASSERT_TRUE(lesson);
    const std::string answer = answer_of(*lesson, dialect);
    const bool known = std::ranges::any_of(
        texts, [&](const std::string& text) { return answer.starts_with(text.substr(0, text.find("__global__"))); });
    EXPECT_TRUE(known) << answer;
  }
}

}  // namespace
}  // namespace kw
