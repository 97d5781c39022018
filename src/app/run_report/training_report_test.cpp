#include "app/run_report/training_report.h"

#include <gtest/gtest.h>

#include <cmath>

#include "agents/episode/episode_store.h"
#include "app/run_report/run_parts.h"
#include "app/run_report/training_gallery.h"
#include "app/run_report/training_results.h"
#include "base/file.h"
#include "base/run_log/metric_lines.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

const std::string hostile = "</title></style><script>alert(1)</script><img src=x onerror=alert(1)>\"'&\xff\xe2\x80\xae";

void write(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  ASSERT_TRUE(write_file_atomic(file, text).ok());
}

EvaluatedAnswer answer(int task, int sample, int turn, bool correct, double speedup) {
  EvaluatedAnswer made;
  made.task = "softmax_" + std::to_string(task);
  made.group = "composition";
  made.family = task % 2 == 0 ? "softmax" : "matmul";
  made.tier = task % 3;
  made.sample = sample;
  made.turn = turn;
  made.outcome = "kernel";
  made.status = correct ? VerdictStatus::correct : VerdictStatus::wrong;
  made.compiled = true;
  made.correct = correct;
  made.reward = correct ? 0.5 + 0.1 * speedup : 0.1;
  if (correct) made.speedup = made.speedup_low = speedup;
  return made;
}

// The later the stage, the more tasks are right; the second turn is faster, and repairs some.
ModelEvaluation evaluation(int right_tasks, double speedup) {
  ModelEvaluation made;
  made.settings.model = "tiny";
  made.settings.samples = 2;
  made.settings.turns = 2;
  made.settings.temperature = 1;
  for (int task = 0; task < 20; ++task)
    for (int sample = 0; sample < 2; ++sample) {
      made.answers.push_back(answer(task, sample, 0, task < right_tasks - 4, 1));
      made.answers.push_back(answer(task, sample, 1, task < right_tasks, speedup));
    }
  return made;
}

std::string text_of(const ModelEvaluation& evaluation) { return to_json(evaluation).dump(1); }

std::string reinforcement_lines(int steps) {
  std::string lines;
  for (int step = 1; step <= steps; ++step)
    lines += metric_line(step, {{"critic/score/mean", 0.3 + 0.02 * step},
                                {"critic/score/std", 0.2},
                                {"judge/answers", 64},
                                {"judge/pass_rate", 0.5 + 0.01 * step},
                                {"judge/compile_rate", 0.9},
                                {"conversation/speedup_gmean", 1.5},
                                {"actor/entropy", 0.1},
                                {"actor/ppo_kl", 0.0},
                                {"curriculum/tier", step > 10 ? 1 : 0},
                                {"timing_s/step", 10},
                                {"timing_s/rollout", 6},
                                {"timing_s/judge", 4},
                                {"timing_s/judge_alone", 1},
                                {"timing_s/update", 3.5}});
  return lines;
}

Turn turn_of(int index, bool right, double speedup, const std::string& kernel) {
  Turn turn;
  turn.index = index;
  turn.role = index == 0 ? AgentRole::generator : AgentRole::optimizer;
  turn.given_turn = index - 1;
  turn.prompt = {1, 2};
  TurnSample sample;
  sample.outcome = AnswerOutcome::kernel;
  sample.kernel = kernel;
  Verdict verdict;
  verdict.status = right ? VerdictStatus::correct : VerdictStatus::wrong;
  verdict.compiled = true;
  verdict.correct = right;
  verdict.summary = right ? "right in all cases" : "wrong in 3 of 12 cases";
  verdict.limiter = "dram bandwidth";
  if (right) {
    verdict.time_us = 10 / speedup;
    verdict.speedup_naive = speedup;
  }
  sample.verdict = std::make_shared<const Verdict>(verdict);
  turn.samples.push_back(std::move(sample));
  return turn;
}

void keep_conversation(EpisodeStore& store, const std::string& task, const std::vector<Turn>& turns) {
  static int number = 0;
  const std::string identity = "conversation " + std::to_string(++number);
  Episode episode;
  auto about = std::make_shared<Task>();
  about->name = task;
  episode.request.task = about;
  episode.turns = turns;
  episode.end = EpisodeEnd::turns;
  ASSERT_TRUE(store.begin(identity, episode.request, "tiny").ok());
  for (const Turn& turn : turns) ASSERT_TRUE(store.add_turn(identity, turn).ok());
  ASSERT_TRUE(store.finish(identity, episode).ok());
}

void make_reinforcement(const fs::path& folder, const std::string& text = "") {
  write(folder / "config.json", R"({"model": "tiny", "algorithm": "grpo", "tasks": 8, "group": 8})");
  write(folder / "machine.json", R"({"processor": "one", "cores": 2, "memory_bytes": 8589934592, "gpus": []})");
  write(folder / "summary.json", R"({"seconds": 200, "interrupted": false})");
  write(folder / "metrics.jsonl", reinforcement_lines(20));
  write(folder / "exams" / "step-00000000.json", text_of(evaluation(10, 1.5)));
  write(folder / "exams" / "step-00000020.json", text_of(evaluation(18, 3)));
  fs::create_directories(folder / "conversations");
  auto store = EpisodeStore::open(folder / "conversations" / "step-00000020.db");
  ASSERT_TRUE(store.ok()) << to_string(store.error());
  keep_conversation(**store, "gains" + text,
                    {turn_of(0, true, 1, "int a;\n" + text), turn_of(1, true, 4, "int b;\n" + text)});
  keep_conversation(**store, "repairs" + text, {turn_of(0, false, 0, "int a;\n"), turn_of(1, true, 2, "int b;\n")});
  keep_conversation(**store, "fails" + text, {turn_of(0, false, 0, "int a;\n"), turn_of(1, false, 0, "int b;\n")});
}

std::string page_of(const fs::path& folder) {
  const auto page = training_report(folder);
  EXPECT_TRUE(page.ok()) << to_string(page.error());
  return page.ok() ? *page : "";
}

void expect_has(const std::string& page, std::initializer_list<const char*> texts) {
  for (const char* text : texts) EXPECT_NE(page.find(text), std::string::npos) << text;
}

TEST(TrainingReport, OfReinforcementLearningHasItsParts) {
  const TemporaryFolder folder;
  make_reinforcement(folder.path() / "night");
  const std::string page = page_of(folder.path() / "night");
  expect_has(page, {"<h1>night</h1>",
                    "90.0\u00a0% of the attempts",
                    "up from 50.0\u00a0%",
                    "p\u00a0=",
                    "Learning curves",
                    "Reward",
                    "Kernels that compile",
                    "Speedup over naive",
                    "Entropy",
                    ">tier 1<",
                    "class=\"band",
                    "One turn against several",
                    "best of 2 first answers",
                    "by tier",
                    "by family",
                    "fast_1.2",
                    "pass@k",
                    "largest gain",
                    "repaired",
                    "failed",
                    "limited by dram bandwidth",
                    "A step of reinforcement learning",
                    "waiting for the judge",
                    "8.0 GiB",
                    "prefers-color-scheme"});
  EXPECT_EQ(page.find("What is missing"), std::string::npos);
  EXPECT_EQ(page.find("KL divergence"), std::string::npos) << "it is zero throughout";
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_EQ(page.find("http"), page.find("http-equiv")) << "no address but the policy's name";
  EXPECT_EQ(page, page_of(folder.path() / "night")) << "the same again";
}

TEST(TrainingReport, OfAPipelineComparesItsStages) {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "laptop";
  make_reinforcement(run / "rl");
  write(run / "config.json", R"({"preset": "laptop"})");
  write(run / "pipeline.json", R"({"stages": [{"name": "sft", "state": "done", "seconds": 60},
      {"name": "rl", "state": "running", "seconds": 120}, 7, {"name": 1}, {"name": "x", "seconds": -1e308}]})");
  write(run / "sft" / "metrics.jsonl", metric_line(1, {{"sft/loss", 2}}) + metric_line(2, {{"sft/loss", 0.5}}) +
                                           metric_line(2, {{"exam/loss", 0.6}, {"exam/correct", 0.4}}));
  write(run / "evaluation" / "start.json", text_of(evaluation(8, 1.2)));
  write(run / "evaluation" / "sft.json", text_of(evaluation(12, 1.4)));
  write(run / "evaluation" / "rl.json", text_of(evaluation(19, 3)));
  const std::string page = page_of(run);
  expect_has(page, {"<h1>laptop</h1>", "after SFT", "after RL", "after SFT to after RL", "before to after RL",
                    "Supervised training: loss", "The whole run", "rl (running)", "95.0\u00a0% of the attempts",
                    "What is missing", "sft/config.json: is not there"});
}

TEST(TrainingReport, OfSupervisedTrainingShowsItsExam) {
  const TemporaryFolder folder;
  write(folder.path() / "config.json", R"({"model": "tiny-1m"})");
  write(folder.path() / "metrics.jsonl",
        metric_line(10, {{"sft/loss", 0.5}}) + metric_line(10, {{"exam/compiled", 1}, {"exam/correct", 0.5}}));
  const std::string line =
      R"({"role":"generator","family":"softmax","signature":"x:f32[n]>y:f32[n]","operation":"return x",)"
      R"("outcome":"kernel","status":"correct","summary":"right","text":"int k;","speedup_naive":2})";
  write(folder.path() / "exams" / "step-00000010.jsonl", line + "\nrubbish\n{}\n" + line + "\n");
  expect_has(page_of(folder.path()),
             {"50.0\u00a0% of the kernels", "The last exam", "fastest", "int k;", "9.5 to 90.5"});
}

TEST(TrainingReport, SaysWhatIsDamagedAndShowsTheRest) {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "night";
  make_reinforcement(run);
  write(run / "machine.json", "{");
  write(run / "exams" / "step-00000005.json", R"({"format": 1, "answers": 3})");
  write(run / "metrics.jsonl", reinforcement_lines(12) + "{\"step\": 13, \"critic/sc");
  write(run / "conversations" / "step-00000030.db", "no database, but long enough to look at " + std::string(400, 'x'));
  const std::string page = page_of(run);
  expect_has(page, {"What is missing", "machine.json: is damaged", "exams/step-00000005.json", "1 lines cannot be read",
                    "conversations/step-00000030.db", "90.0\u00a0% of the attempts", "largest gain"});
  fs::remove_all(run / "exams");
  fs::remove_all(run / "conversations");
  fs::remove(run / "config.json");
  expect_has(page_of(run), {"Nothing of this run was evaluated", "Learning curves", "none were kept"});
}

TEST(TrainingReport, RefusesWhatIsNoRun) {
  const TemporaryFolder folder;
  EXPECT_FALSE(training_report(folder.path()).ok());
  EXPECT_FALSE(training_report(folder.path() / "nowhere").ok());
  write(folder.path() / "file", "x");
  EXPECT_FALSE(training_report(folder.path() / "file").ok());
}

TEST(TrainingReport, HostileTextIsOnlyText) {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "night";
  make_reinforcement(run, hostile.substr(0, hostile.size() - 4));
  ModelEvaluation odd = evaluation(12, 2);
  for (EvaluatedAnswer& one : odd.answers) one.family = one.group = hostile.substr(0, hostile.size() - 4);
  write(run / "exams" / "step-00000020.json", text_of(odd));
  write(run / "config.json", nlohmann::ordered_json{{"model", hostile.substr(0, 60)}, {"algorithm", "<b>"}}.dump());
  write(run / "machine.json", R"({"<i>": ["<u>", {"<s>": 1}], "memory_bytes": "x"})");
  const std::string page = page_of(run);
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_EQ(page.find("<img"), std::string::npos);
  for (const char* tag : {"<b>", "<u>", "<s>"}) EXPECT_EQ(page.find(tag), std::string::npos) << tag;
  expect_has(page, {"&lt;script&gt;"});
}

TEST(TrainingReport, StaysSmall) {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "night";
  make_reinforcement(run);
  auto store = EpisodeStore::open(run / "conversations" / "step-00000021.db");
  ASSERT_TRUE(store.ok());
  for (int i = 0; i < 12; ++i) {
    std::vector<Turn> turns;
    for (int turn = 0; turn < 5; ++turn) {
      std::string kernel;
      while (kernel.size() < 60'000)
        kernel += "<" + std::to_string(turn * 1000003 + static_cast<int>(kernel.size())) + ">\n";
      turns.push_back(turn_of(turn, true, 1 + turn, kernel));
    }
    keep_conversation(**store, "long_" + std::to_string(i), turns);
  }
  ModelEvaluation many = evaluation(12, 2);
  for (std::size_t i = 0; i < many.answers.size(); ++i)
    many.answers[i].family = std::string(500, '<') + std::to_string(i);
  write(run / "exams" / "step-00000020.json", text_of(many));
  std::string lines;
  for (int step = 0; step < 20'000; ++step)
    lines += metric_line(step, {{"critic/score/mean", std::sin(step)}, {"judge/answers", 8}, {"critic/score/std", 1}});
  write(run / "metrics.jsonl", lines);
  const std::string page = page_of(run);
  EXPECT_LE(page.size(), most_report_bytes);
  expect_has(page, {"some conversations are too long for this page", "Learning curves"});
}

TEST(TrainingResults, PairTasksAndBudgets) {
  const std::vector<NamedEvaluation> stages = {{"before", evaluation(8, 1.2)}, {"after RL", evaluation(18, 3)}};
  const auto results = stage_results(stages);
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].group, "composition");
  EXPECT_NEAR(results[0].rows[1].correct.value, 0.9, 1e-9);
  const PairedFigure* correct = figure_of(results[0].to_last[0], "correct");
  ASSERT_NE(correct, nullptr);
  EXPECT_NEAR(correct->p_value, 2.0 / 1024, 1e-9) << "10 tasks got right, none got worse";
  EXPECT_NEAR(results[0].useful_speedups[1].value, std::pow(3, 0.9), 1e-9);
  ASSERT_NE(figure_of(results[0].to_last[0], "reward"), nullptr);
  EXPECT_EQ(figure_of(results[0].to_last[1], "correct"), nullptr);

  const auto turns = turn_results(stages[1].evaluation);
  ASSERT_TRUE(turns);
  EXPECT_EQ(turns->turns, 2);
  EXPECT_EQ(turns->first.answers.size(), 40u);
  EXPECT_NEAR(turns->from_same_budget->answers_a, 2, 1e-9);
  EXPECT_NEAR(turns->from_same_budget->answers_b, 4, 1e-9) << "two conversations of two turns";
  EXPECT_NEAR(figure_of(turns->from_same_budget, "correct")->a, 0.7, 1e-9);
  EXPECT_NEAR(figure_of(turns->from_same_budget, "correct")->b, 0.9, 1e-9);
  EXPECT_EQ(p_text(0.00001), "p\u00a0<\u00a00.0001");
  EXPECT_EQ(p_text(0.0123), "p\u00a0=\u00a00.012");
}

TEST(TrainingGallery, TakesEachKindAndNoTaskTwice) {
  std::vector<Episode> episodes;
  const auto add = [&](const std::string& task, std::vector<Turn> turns, KernelTurn best) {
    Episode episode;
    auto about = std::make_shared<Task>();
    about->name = task;
    episode.request.task = about;
    episode.turns = std::move(turns);
    episode.best = best;
    episodes.push_back(std::move(episode));
  };
  for (int i = 0; i < 4; ++i) add("a", {turn_of(0, true, 1, "x"), turn_of(1, true, 2.0 + i, "y")}, 1);
  add("b", {turn_of(0, true, 1, "x"), turn_of(1, true, 1.5, "y")}, 1);
  add("c", {turn_of(0, false, 0, "x"), turn_of(1, true, 1.5, "y")}, 1);
  add("d", {turn_of(0, false, 0, "x")}, std::nullopt);
  const auto picks = chosen_conversations(episodes, 4);
  ASSERT_EQ(picks.size(), 4u);
  EXPECT_EQ(picks[0].index, 3u);
  EXPECT_EQ(picks[0].why, "largest gain");
  EXPECT_EQ(picks[1].why, "repaired");
  EXPECT_EQ(picks[2].index, 4u);
  EXPECT_EQ(picks[3].why, "failed");
  EXPECT_TRUE(chosen_conversations({}, 4).empty());
}

}  // namespace
}  // namespace kw
