#include "app/evaluate/exam.h"

#include <gtest/gtest.h>

#include <csignal>
#include <map>

#include "app/evaluate/evaluation_page.h"
#include "app/evaluate/scripted_decoder.h"
#include "base/interrupt.h"
#include "kernel/judge/judge_test_support.h"
#include "model/decoder/presets.h"
#include "model/rollout/cpu_decoder.h"

namespace kw {
namespace {

ExampleStream exam_stream(DataSplit split, std::uint64_t seed) {
  StreamOptions options;
  options.seed = seed;
  options.split = split;
  return ExampleStream(options);
}

const Dialect& dialect() {
  static const Dialect made = [] {
    const ExampleStream stream = exam_stream(DataSplit::train, 3);
    std::vector<std::string> texts;
    for (std::uint64_t i = 0; i < 60; ++i) {
      const Example example = stream.example_at(i);
      texts.push_back(compact_signature(example.drawn.task) + "\n" + compact_operation(example.drawn.task));
      texts.push_back(example.kernel);
    }
    std::vector<std::string_view> views(texts.begin(), texts.end());
    Tokenizer tokenizer = train_compact_tokenizer(views, 600).value();
    return Dialect::make(std::move(tokenizer), PromptBook::load(source_root() / "prompts").value()).value();
  }();
  return made;
}

std::vector<std::int32_t> ids_of(const std::string& text) {
  std::vector<std::int32_t> ids = dialect().tokenizer().encode(text).value();
  ids.push_back(dialect().stop_tokens().front());
  return ids;
}

// Says for each prompt what was prepared for it.
class PreparedAnswers {
 public:
  void add(const ExamQuestion& question, const std::string& text) {
    Scribe scribe(dialect());
    PromptRequest request;
    request.role = question.role;
    request.task = &question.task;
    request.level = question.level;
    request.kernel = question.kernel;
    if (question.role == AgentRole::optimizer) request.verdict = &*question.verdict;
    answers_[scribe.prompt_ids(request).value()] = ids_of(text);
  }
  ScriptedDecoder::Script script() const {
    return [this](const std::vector<std::int32_t>& prompt, const DecoderRow&) { return answers_.at(prompt); };
  }

 private:
  std::map<std::vector<std::int32_t>, std::vector<std::int32_t>> answers_;
};

std::int32_t no_adapter(AgentRole) { return -1; }

std::string naive_kernel(DataSplit split, std::uint64_t seed, std::uint64_t index) {
  const ExampleStream stream = exam_stream(split, seed);
  return stream.kernel_for(stream.task_at(index), Level::naive, house_style);
}

TEST(DrawnQuestions, AreHeldOutAndHaveABaseline) {
  const auto questions = drawn_questions(DataSplit::composition, 5, 20);
  ASSERT_EQ(questions.size(), 20u);
  for (const ExamQuestion& question : questions) {
    EXPECT_EQ(question.group, "composition");
    EXPECT_EQ(question.task.split, Split::holdout);
    EXPECT_FALSE(question.task.naive.empty());
    EXPECT_TRUE(family_from_name(question.family).has_value());
  }
  EXPECT_EQ(drawn_questions(DataSplit::composition, 5, 3)[2].task.pytorch, questions[2].task.pytorch);
}

TEST(Exam, CountsWhatTheJudgeSaysOfPreparedAnswers) {
  const auto questions = drawn_questions(DataSplit::composition, 5, 4);
  PreparedAnswers prepared;
  prepared.add(questions[0], naive_kernel(DataSplit::composition, 5, 0));
  prepared.add(questions[1], "I cannot do that.");
  prepared.add(questions[2], "__global__ void k() { int x = undeclared; }\nextern \"C\" void launch(int n) {}\n");
  prepared.add(questions[3], naive_kernel(DataSplit::composition, 5, 3));
  ScriptedDecoder decoder(prepared.script());
  Rollout rollout(decoder, &dialect().tokenizer());
  ExamOptions options;
  options.samples = 2;
  options.judge_workers = 2;
  options.max_tokens = 3000;
  std::size_t last = 0;
  options.progress = [&](std::size_t done, std::size_t all) {
    EXPECT_EQ(all, 8u);
    EXPECT_GT(done, last);
    last = done;
  };
  const auto result = sit_exam(rollout, dialect(), test_judge(), questions, no_adapter, options);
  ASSERT_TRUE(result.ok()) << to_string(result.error());
  EXPECT_EQ(last, 8u);
  ASSERT_EQ(result->answers.size(), 8u);
  EXPECT_FALSE(result->interrupted);
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(result->answers[i].question, i / 2);
    EXPECT_EQ(result->answers[i].sample, static_cast<std::int64_t>(i % 2));
    EXPECT_EQ(to_string(result->answers[i].finish), "stop_token");
  }
  EXPECT_TRUE(result->answers[0].verdict && result->answers[0].verdict->correct)
      << result->answers[0].answer.message << result->answers[0].text;
  EXPECT_FALSE(result->answers[2].verdict);
  EXPECT_EQ(result->answers[3].text, "I cannot do that.");
  EXPECT_TRUE(result->answers[4].verdict && !result->answers[4].verdict->compiled);
  const ExamScore score = score_of(questions, *result);
  EXPECT_EQ(score.answers, 8);
  EXPECT_EQ(score.kernels, 6);
  EXPECT_EQ(score.compiled, 4);
  EXPECT_EQ(score.correct, 4);
  EXPECT_NEAR(score.geometric_mean_speedup, 1, 0.05);
  EXPECT_EQ(score_of(questions, *result, "novel").answers, 0);
}

TEST(Exam, TheOptimizerImprovesAndRepairs) {
  const auto questions = optimizer_questions(test_judge(), DataSplit::composition, 9, 2, 2);
  ASSERT_TRUE(questions.ok()) << to_string(questions.error());
  ASSERT_EQ(questions->size(), 4u);
  PreparedAnswers prepared;
  for (std::size_t i = 0; i < 4; ++i) {
    const ExamQuestion& question = (*questions)[i];
    EXPECT_EQ(question.role, AgentRole::optimizer);
    EXPECT_EQ(question.verdict->correct, i < 2);
    // The first broken kernel is answered with a right one, the second with itself; right ones are said again.
    prepared.add(question, i == 3 ? question.kernel : question.task.naive);
  }
  ScriptedDecoder decoder(prepared.script());
  Rollout rollout(decoder, &dialect().tokenizer());
  ExamOptions options;
  options.max_tokens = 3000;
  const auto result = sit_exam(rollout, dialect(), test_judge(), *questions, no_adapter, options);
  ASSERT_TRUE(result.ok()) << to_string(result.error());
  const ExamScore score = score_of(*questions, *result);
  EXPECT_EQ(score.to_improve, 2);
  EXPECT_EQ(score.faster, 0);
  EXPECT_EQ(score.to_repair, 2);
  EXPECT_EQ(score.repaired, 1);
  EXPECT_EQ(score.correct, 3);
  // Again, in whatever order threads judge them.
  const auto again = optimizer_questions(test_judge(), DataSplit::composition, 9, 2, 2);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ((*again)[i].kernel, (*questions)[i].kernel);
}

TEST(Exam, FasterIsWhatTheTimesShow) {
  ExamQuestion question;
  question.kernel = "shown";
  question.verdict = Verdict{};
  Verdict answer;
  for (Verdict* verdict : {&*question.verdict, &answer}) {
    verdict->correct = verdict->compiled = true;
    verdict->status = VerdictStatus::correct;
    verdict->time_source = "modelled";
    verdict->time_us = 10;
  }
  EXPECT_FALSE(made_faster(question, answer));
  answer.time_us = 9.9;
  EXPECT_FALSE(made_faster(question, answer));
  answer.time_us = 9.5;
  EXPECT_TRUE(made_faster(question, answer));
  answer.correct = false;
  EXPECT_FALSE(made_faster(question, answer));
  answer.correct = true;
  answer.time_source = "measured";
  EXPECT_FALSE(made_faster(question, answer)) << "times of two kinds";
  question.verdict->time_source = "measured";
  question.verdict->speedup_naive = 1.5;
  answer.speedup_interval = Interval{1.4, 1.7};
  EXPECT_FALSE(made_faster(question, answer));
  answer.speedup_interval = Interval{1.6, 1.7};
  EXPECT_TRUE(made_faster(question, answer));
  answer.speedup_interval = Interval{1.1, 1.2};
  EXPECT_FALSE(made_faster(question, answer));
  question.task.naive = "shown";
  EXPECT_TRUE(made_faster(question, answer));
}

TEST(Exam, TheTesterPredicts) {
  std::vector<ExamQuestion> questions = drawn_questions(DataSplit::composition, 5, 2);
  PreparedAnswers prepared;
  for (ExamQuestion& question : questions) {
    question.role = AgentRole::tester;
    question.kernel = question.task.naive;
  }
  prepared.add(questions[0], "correct 2.1x\n");
  prepared.add(questions[1], "It looks fine");
  ScriptedDecoder decoder(prepared.script());
  Rollout rollout(decoder, &dialect().tokenizer());
  const auto result = sit_exam(rollout, dialect(), test_judge(), questions, no_adapter, {});
  ASSERT_TRUE(result.ok()) << to_string(result.error());
  const ExamAnswer& said = result->answers[0];
  ASSERT_TRUE(said.prediction);
  EXPECT_EQ(said.prediction->status, VerdictStatus::correct);
  const auto word_tokens = static_cast<double>(dialect().tokenizer().encode("correct")->size());
  EXPECT_NEAR(said.prediction_probability, std::exp(-0.5 * word_tokens), 1e-6);
  EXPECT_FALSE(result->answers[1].prediction);
  EXPECT_EQ(score_of(questions, *result).answers, 0);
}

// Nothing right is expected of random weights: only that every answer is there, and the same again.
TEST(Exam, ARandomModelSitsItToo) {
  ThreadTeam team(2);
  auto shape = preset_description("tiny-1m", static_cast<std::int64_t>(dialect().tokenizer().size()));
  ASSERT_TRUE(shape.ok());
  const Parameters parameters = initial_parameters(team, *shape, 1);
  const auto decoder = make_cpu_decoder(team, parameters);
  ASSERT_TRUE(decoder.ok());
  const auto questions = drawn_questions(DataSplit::novel, 1, 3);
  ExamOptions options;
  options.samples = 2;
  options.temperature = 1;
  options.max_tokens = 24;
  std::vector<std::string> first;
  for (int turn = 0; turn < 2; ++turn) {
    Rollout rollout(**decoder, &dialect().tokenizer());
    const auto result = sit_exam(rollout, dialect(), test_judge(), questions, no_adapter, options);
    ASSERT_TRUE(result.ok()) << to_string(result.error());
    ASSERT_EQ(result->answers.size(), 6u);
    for (std::size_t i = 0; i < 6; ++i) {
      if (turn == 0) first.push_back(result->answers[i].text);
      EXPECT_EQ(result->answers[i].text, first[i]);
    }
    EXPECT_EQ(score_of(questions, *result).answers, 6);
  }
  EXPECT_NE(first[0], first[1]);
}

TEST(Exam, APromptThatDoesNotFitIsAFailedAnswer) {
  auto questions = drawn_questions(DataSplit::composition, 5, 2);
  for (int i = 0; i < 3000; ++i) questions[1].task.pytorch += "    x = x + 1\n";
  PreparedAnswers prepared;
  prepared.add(questions[0], "no");
  ScriptedDecoder decoder(prepared.script());
  Rollout rollout(decoder, &dialect().tokenizer());
  const auto result = sit_exam(rollout, dialect(), test_judge(), questions, no_adapter, {});
  ASSERT_TRUE(result.ok()) << to_string(result.error());
  EXPECT_EQ(score_of(questions, *result).answers, 2);
  EXPECT_NE(result->answers[1].answer.message.find("tokens"), std::string::npos) << result->answers[1].answer.message;
  questions.erase(questions.begin());
  EXPECT_FALSE(sit_exam(rollout, dialect(), test_judge(), questions, no_adapter, {}).ok());
}

TEST(Exam, AnInterruptLeavesTheRolloutIdle) {
  install_interrupt_handling();
  const auto questions = drawn_questions(DataSplit::composition, 5, 40);
  PreparedAnswers prepared;
  for (const ExamQuestion& question : questions) prepared.add(question, question.task.naive);
  ScriptedDecoder decoder(prepared.script());
  Rollout rollout(decoder, &dialect().tokenizer());
  ExamOptions options;
  options.max_tokens = 3000;
  options.judge_workers = 1;
  options.progress = [](std::size_t, std::size_t) { std::raise(SIGINT); };
  const auto result = sit_exam(rollout, dialect(), test_judge(), questions, no_adapter, options);
  clear_interrupt();
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result->interrupted);
  EXPECT_LT(result->answers.size(), 40u);
  EXPECT_TRUE(rollout.idle());
  EXPECT_EQ(rollout.used_pages(), 0);
}

// The Generator says nonsense, the Optimizer puts it right, and says the same again when it is asked again.
TEST(Exam, OfSeveralTurnsTheBestCounts) {
  const auto questions = drawn_questions(DataSplit::composition, 5, 1);
  const std::int32_t optimizer = dialect().tokenizer().find("<|opt|>").value();
  ScriptedDecoder decoder([&](const std::vector<std::int32_t>& prompt, const DecoderRow&) {
    return ids_of(prompt.front() == optimizer ? questions[0].task.naive
                                              : "__global__ void k() { int x = undeclared; }\n"
                                                "extern \"C\" void launch(int n) {}\n");
  });
  Rollout rollout(decoder, &dialect().tokenizer());
  ExamOptions options;
  options.turns = 3;
  options.samples = 2;
  options.temperature = 1;
  options.max_tokens = 3000;
  std::size_t last = 0;
  options.progress = [&](std::size_t done, std::size_t all) {
    EXPECT_EQ(all, 6u);
    last = done;
  };
  const auto exam = sit_exam(rollout, dialect(), test_judge(), questions, no_adapter, options);
  ASSERT_TRUE(exam.ok()) << to_string(exam.error());
  EXPECT_FALSE(exam->interrupted);
  EXPECT_EQ(last, 6u);
  ASSERT_EQ(exam->answers.size(), 6u);
  ModelEvaluation evaluation;
  evaluation.answers = evaluated_answers(questions, *exam);
  const auto rows = evaluation_rows(evaluation, QuestionKind::generate, RowsBy::group);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].attempts, 2);
  EXPECT_EQ(rows[0].correct.value, 1);
  EXPECT_FALSE(evaluation.answers[0].correct);
  EXPECT_TRUE(evaluation.answers[1].correct);
  EXPECT_EQ(exam->answers[5].sample, 1);
  EXPECT_EQ(exam->answers[5].turn, 2);
  // As a page: the kernel that was put right is shown as a change.
  EXPECT_EQ(gallery_of(exam->episodes, 5).size(), 2u);
  HtmlReport report;
  report.conversations.push_back(report_conversation(exam->episodes[0]));
  add_evaluations(report, {{"after", &evaluation}});
  const std::string page = html_report(report);
  EXPECT_NE(page.find("class=\"added\""), std::string::npos);
  EXPECT_NE(page.find("100.0 %"), std::string::npos);
}

// Of what could not be checked nobody knows whether it is right, so it is not; only the judge's own fault is left out.
TEST(ExamScore, UnsupportedIsAnAnswerThatIsNotRight) {
  std::vector<ExamQuestion> questions(1);
  ExamResult result;
  for (const VerdictStatus status :
       {VerdictStatus::correct, VerdictStatus::unsupported, VerdictStatus::wrong, VerdictStatus::internal_error}) {
    ExamAnswer answer;
    answer.verdict.emplace();
    answer.verdict->status = status;
    answer.verdict->compiled = true;
    answer.verdict->correct = status == VerdictStatus::correct;
    answer.verdict->speedup_naive = 8;  // without a time
    result.answers.push_back(std::move(answer));
  }
  const ExamScore score = score_of(questions, result);
  EXPECT_EQ(score.answers, 3);
  EXPECT_EQ(score.correct, 1);
  EXPECT_EQ(score.unsupported, 1);
  EXPECT_EQ(score.unjudged, 1);
  EXPECT_EQ(score.geometric_mean_speedup, 0);
}

}  // namespace
}  // namespace kw
