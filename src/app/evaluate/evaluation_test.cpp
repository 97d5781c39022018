#include "app/evaluate/evaluation.h"

#include <gtest/gtest.h>

#include "app/evaluate/paired_comparison.h"
#include "app/evaluate/tester_score.h"
#include "base/file.h"
#include "base/random.h"

namespace kw {
namespace {

using Json = nlohmann::ordered_json;

EvaluatedAnswer answer_of(const std::string& task, bool correct, double speedup, std::int64_t sample = 0,
                          int turn = 0) {
  EvaluatedAnswer answer;
  answer.task = task;
  answer.group = "composition";
  answer.family = task.substr(0, 1);
  answer.sample = sample;
  answer.turn = turn;
  answer.outcome = "kernel";
  answer.status = correct ? VerdictStatus::correct : VerdictStatus::wrong;
  answer.compiled = true;
  answer.correct = correct;
  if (correct) answer.speedup = answer.speedup_low = speedup;
  answer.tokens = 100;
  return answer;
}

ModelEvaluation evaluation_of(std::vector<EvaluatedAnswer> answers) {
  ModelEvaluation evaluation;
  evaluation.settings.model = "tiny";
  evaluation.settings.judge = "emulator, h200";
  evaluation.answers = std::move(answers);
  return evaluation;
}

TEST(Evaluation, RowsCountAttemptsAndTasks) {
  ModelEvaluation evaluation = evaluation_of(
      {answer_of("a1", true, 1.0), answer_of("a2", true, 4.0), answer_of("b1", false, 0), answer_of("b2", true, 1.3)});
  EvaluatedAnswer unchecked = answer_of("b3", false, 0);
  unchecked.status = VerdictStatus::unsupported;
  evaluation.answers.push_back(unchecked);
  EvaluatedAnswer unjudged = answer_of("b5", false, 0);
  unjudged.status = VerdictStatus::internal_error;
  evaluation.answers.push_back(unjudged);
  EvaluatedAnswer silent = answer_of("b4", false, 0);
  silent.status.reset();
  silent.compiled = false;
  silent.outcome = "no_code";
  evaluation.answers.push_back(silent);
  const auto rows = evaluation_rows(evaluation, QuestionKind::generate, RowsBy::family);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].label, "a");
  EXPECT_EQ(rows[0].correct.value, 1);
  EXPECT_NEAR(rows[0].mean_speedup.value, 2, 1e-12);
  EXPECT_EQ(rows[0].unsupported, 0);
  EXPECT_EQ(rows[1].tasks, 4);
  EXPECT_EQ(rows[1].unjudged, 1);
  EXPECT_NEAR(rows[1].unsupported, 0.25, 1e-12);
  const EvaluationRow& all = rows[2];
  EXPECT_EQ(all.label, "all");
  EXPECT_EQ(all.attempts, 6) << "what could not be checked is not right";
  EXPECT_NEAR(all.compiled.value, 5.0 / 6, 1e-12);
  EXPECT_NEAR(all.correct.value, 0.5, 1e-12);
  EXPECT_NEAR(all.unsupported, 1.0 / 6, 1e-12);
  EXPECT_NEAR(all.fast[0], 2.0 / 6, 1e-12);  // a speedup of exactly one is none
  EXPECT_NEAR(all.fast[3], 1.0 / 6, 1e-12);
  EXPECT_NEAR(*all.median_speedup, 1.3, 1e-12);
  EXPECT_FALSE(all.fast_pytorch);
  const std::string text = evaluation_text(evaluation);
  EXPECT_NE(text.find("50.0 %"), std::string::npos) << text;
  EXPECT_NE(text.find("unsupported"), std::string::npos) << text;
  EXPECT_NE(text.find("1 answers count nowhere"), std::string::npos) << text;
  const auto row = summary_json(evaluation)["generate"]["group"][0];
  EXPECT_EQ(row["attempts"], 6);
  EXPECT_NEAR(row["unsupported"].get<double>(), 1.0 / 6, 1e-12);
}

// A model that drifts to where the judge cannot follow must not look better than one that is wrong there.
TEST(Evaluation, UnsupportedCountsAsNotRightInComparisons) {
  EvaluatedAnswer unchecked = answer_of("a2", false, 0);
  unchecked.status = VerdictStatus::unsupported;
  const ModelEvaluation a = evaluation_of({answer_of("a1", true, 2), answer_of("a2", false, 0)});
  const ModelEvaluation b = evaluation_of({answer_of("a1", true, 2), unchecked});
  const auto comparisons = compare_evaluations(a, b);
  ASSERT_TRUE(comparisons.ok());
  EXPECT_EQ(comparisons->front().tasks, 2);
  double share = 0;
  for (const PairedFigure& figure : comparisons->front().figures) {
    if (figure.name == "correct") {
      EXPECT_EQ(figure.a, figure.b);
    }
    if (figure.name == "unsupported") share = figure.b;
  }
  EXPECT_EQ(share, 0.5);
}

TEST(Evaluation, AnAnswerWithoutATimeHasNoSpeedup) {
  Verdict verdict;
  verdict.status = VerdictStatus::correct;
  verdict.compiled = verdict.correct = true;
  verdict.speedup_naive = 50;
  EvaluatedAnswer answer;
  add_verdict(answer, verdict);
  EXPECT_TRUE(answer.correct);
  EXPECT_FALSE(answer.speedup || answer.speedup_low || answer.speedup_pytorch);
  verdict.time_us = 3;
  verdict.flags.push_back("unchecked_path");
  add_verdict(answer, verdict);
  EXPECT_FALSE(answer.correct);
  EXPECT_TRUE(answer.unsupported());
}

TEST(Evaluation, OfSeveralTurnsTheBestCounts) {
  const ModelEvaluation evaluation =
      evaluation_of({answer_of("a1", false, 0, 0, 0), answer_of("a1", true, 2, 0, 1), answer_of("a1", true, 1.5, 0, 2),
                     answer_of("a1", false, 0, 1, 0), answer_of("a1", false, 0, 1, 1)});
  const auto attempts = attempts_of(evaluation);
  ASSERT_EQ(attempts.size(), 2u);
  EXPECT_EQ(attempts[0].best.turn, 1);
  EXPECT_EQ(attempts[0].answers, 3);
  EXPECT_EQ(attempts[0].best.tokens, 300);
  EXPECT_FALSE(attempts[1].best.correct);
  const auto rows = evaluation_rows(evaluation, QuestionKind::generate, RowsBy::group);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].k, 2);
  EXPECT_EQ(rows[0].pass_at_k, 1);
  EXPECT_EQ(rows[0].correct.value, 0.5);
}

TEST(Evaluation, IsReadBackAsItWasWritten) {
  ModelEvaluation evaluation = evaluation_of({answer_of("a1", true, 1.0), answer_of("b1", false, 0, 3, 2)});
  evaluation.answers[0].kind = QuestionKind::improve;
  evaluation.answers[0].speedup_pytorch = 0.7;
  evaluation.settings.seed = 18446744073709551615u;
  const auto read = evaluation_from_json(Json::parse(to_json(evaluation).dump()));
  ASSERT_TRUE(read.ok()) << to_string(read.error());
  EXPECT_EQ(to_json(*read), to_json(evaluation));
}

TEST(Evaluation, AnythingElseIsAnError) {
  EXPECT_FALSE(evaluation_from_json(Json::parse("[]")).ok());
  EXPECT_FALSE(evaluation_from_json(Json::parse("{}")).ok());
  EXPECT_FALSE(evaluation_from_json(Json::parse("null")).ok());
  const Json good = to_json(evaluation_of({answer_of("a1", true, 1.0)}));
  ASSERT_TRUE(evaluation_from_json(good).ok());
  const std::vector<Json> nonsense{
      nullptr, -1, 1e300, "x", Json::array(), Json::object(), true, std::string(100'000, 'x'), 18446744073709551615u};
  // Whatever is put in the place of a member: an error or a good evaluation, never a crash.
  for (const auto& [key, value] : good.items())
    for (const Json& other : nonsense) {
      Json broken = good;
      broken[key] = other;
      (void)evaluation_from_json(broken);
      broken.erase(key);
      EXPECT_FALSE(evaluation_from_json(broken).ok()) << key;
    }
  for (const auto& [key, value] : good["answers"][0].items())
    for (const Json& other : nonsense) {
      Json broken = good;
      broken["answers"][0][key] = other;
      const auto read = evaluation_from_json(broken);
      if (read.ok()) (void)evaluation_text(*read);
      broken["answers"][0].erase(key);
      // Files from before rewards were recorded have none.
      EXPECT_EQ(evaluation_from_json(broken).ok(), key == "reward") << key;
    }
  EXPECT_FALSE(read_evaluation("/nowhere/at/all.json").ok());
}

TEST(Comparison, PairsTasks) {
  std::vector<EvaluatedAnswer> before, after;
  for (int i = 0; i < 30; ++i) {
    const std::string task = "t" + std::to_string(i);
    before.push_back(answer_of(task, i % 3 == 0 || i == 1, 1.0 + 0.01 * i));
    after.push_back(answer_of(task, i != 3, 1.5 + 0.01 * i));
  }
  before.push_back(answer_of("only here", true, 9));
  const ModelEvaluation a = evaluation_of(before), b = evaluation_of(after);
  const auto comparisons = compare_evaluations(a, b);
  ASSERT_TRUE(comparisons.ok());
  ASSERT_EQ(comparisons->size(), 1u);
  const PairedComparison& found = comparisons->front();
  EXPECT_EQ(found.tasks, 30);
  EXPECT_EQ(found.regressions, (std::vector<std::string>{"t3"}));
  EXPECT_EQ(found.improvements.size(), 19u);
  const PairedFigure& correct = found.figures[1];
  EXPECT_EQ(correct.name, "correct");
  EXPECT_NEAR(correct.a, 11 / 30.0, 1e-12);
  EXPECT_NEAR(correct.b, 29 / 30.0, 1e-12);
  EXPECT_EQ(correct.test, "McNemar, exact");
  EXPECT_NEAR(correct.p_value, 2 * 21 / 1048576.0, 1e-12);  // (C(20,0) + C(20,1)) / 2^20, twice
  EXPECT_GT(correct.difference.low, 0.3);
  const PairedFigure& speed = found.figures[3];
  EXPECT_EQ(speed.tasks, 10);
  EXPECT_GT(speed.b / speed.a, 1.3);
  EXPECT_LT(speed.p_value, 0.01);
  EXPECT_NE(comparison_text(a, b, *comparisons).find("1 regressions"), std::string::npos);
  const auto same = compare_evaluations(a, a);
  for (const PairedFigure& figure : same->front().figures) EXPECT_EQ(figure.p_value, 1) << figure.name;
  EXPECT_FALSE(compare_evaluations(a, evaluation_of({answer_of("other", true, 1)})).ok());
}

// One turn four times against two turns twice.
TEST(Comparison, TurnsOnTheSameBudget) {
  std::vector<EvaluatedAnswer> single, several;
  for (int i = 0; i < 12; ++i) {
    const std::string task = "t" + std::to_string(i);
    for (int sample = 0; sample < 4; ++sample) single.push_back(answer_of(task, i < 4 && sample == 0, 1.1, sample));
    for (int sample = 0; sample < 2; ++sample)
      for (int turn = 0; turn < 2; ++turn) several.push_back(answer_of(task, turn == 1, 2, sample, turn));
  }
  const auto comparisons = compare_evaluations(evaluation_of(single), evaluation_of(several));
  ASSERT_TRUE(comparisons.ok());
  const PairedComparison& found = comparisons->front();
  EXPECT_EQ(found.answers_a, 4);
  EXPECT_EQ(found.answers_b, 4);
  EXPECT_EQ(found.figures[1].test, "paired permutation");
  EXPECT_NEAR(found.figures[1].a, 1 / 12.0, 1e-9);
  EXPECT_EQ(found.figures[3].name, "correct at least once");
  EXPECT_NEAR(found.figures[3].p_value, 2.0 / 256, 1e-12);
}

TEST(TesterScore, CountsAndCalibrates) {
  using enum VerdictStatus;
  const TesterScore score = tester_score({{correct, correct, 0.9},
                                          {correct, correct, 0.7},
                                          {correct, wrong, 0.6},
                                          {fault, race, 0.5},
                                          {race, std::nullopt, 0}});
  EXPECT_EQ(score.predictions, 5);
  EXPECT_EQ(score.unreadable, 1);
  EXPECT_NEAR(score.accuracy.value, 0.4, 1e-12);
  EXPECT_NEAR(score.right_or_not.value, 0.6, 1e-12);
  EXPECT_NEAR(score.most_frequent, 0.6, 1e-12);
  EXPECT_EQ(score.confusion.at(correct).at(wrong), 1);
  EXPECT_NEAR(*score.brier, (0.01 + 0.09 + 0.36 + 0.25) / 4, 1e-12);
  EXPECT_NEAR(*score.calibration_error, (0.1 + 0.3 + 0.6 + 0.5) / 4, 1e-12);
  EXPECT_NE(tester_text(score).find("unreadable"), std::string::npos);
  EXPECT_EQ(to_json(score)["confusion"]["fault"]["race"], 1);
  EXPECT_EQ(tester_score({}).predictions, 0);
  EXPECT_FALSE(tester_score({}).brier);
  (void)tester_text(tester_score({}));
}

// Who says 80 % and is right in 80 % is calibrated.
TEST(TesterScore, AnHonestTesterHasNoCalibrationError) {
  Random random(4);
  std::vector<Prediction> predictions;
  for (int i = 0; i < 20'000; ++i) {
    const double probability = random.uniform(0.1, 1);
    const bool right = random.uniform() < probability;
    predictions.push_back({VerdictStatus::correct, right ? VerdictStatus::correct : VerdictStatus::wrong, probability});
  }
  EXPECT_LT(*tester_score(predictions).calibration_error, 0.02);
}

EvaluatedAnswer said(const std::string& task, std::int64_t sample, int turn, double reward) {
  EvaluatedAnswer answer;
  answer.task = task;
  answer.group = "composition";
  answer.sample = sample;
  answer.turn = turn;
  answer.outcome = "kernel";
  answer.status = VerdictStatus::correct;
  answer.compiled = answer.correct = true;
  answer.reward = reward;
  return answer;
}

TEST(JoinedEvaluations, AttemptsAreNumberedOn) {
  ModelEvaluation one, two;
  one.settings.samples = two.settings.samples = 2;
  one.settings.turns = two.settings.turns = 2;
  one.answers = {said("a", 0, 0, 0.1), said("a", 0, 1, 0.2), said("a", 1, 0, 0.3)};
  two.answers = {said("a", 0, 0, 0.4), said("a", 1, 1, 0.5)};
  const auto joined = join_evaluations({one, two});
  ASSERT_TRUE(joined.ok());
  EXPECT_EQ(joined->settings.samples, 4);
  ASSERT_EQ(joined->answers.size(), 5u);
  EXPECT_EQ(joined->answers[3].sample, 2);
  EXPECT_EQ(joined->answers[4].sample, 3);
  EXPECT_EQ(first_turns(*joined, 1).answers.size(), 3u);
  two.settings.temperature = 0.5;
  EXPECT_FALSE(join_evaluations({one, two}).ok());
  EXPECT_FALSE(join_evaluations({}).ok());
}

TEST(JoinedEvaluations, RewardSurvivesTheFile) {
  ModelEvaluation one;
  one.answers = {said("a", 0, 0, -0.25)};
  auto json = to_json(one);
  auto read = evaluation_from_json(json);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->answers.at(0).reward, -0.25);
  json["answers"][0].erase("reward");  // files from before it was recorded
  read = evaluation_from_json(json);
  ASSERT_TRUE(read.ok());
  EXPECT_FALSE(read->answers.at(0).reward.has_value());
  json["answers"][0]["reward"] = "much";
  EXPECT_FALSE(evaluation_from_json(json).ok());
}

}  // namespace
}  // namespace kw
