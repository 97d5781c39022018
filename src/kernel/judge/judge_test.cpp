#include "kernel/judge/judge.h"

#include <fstream>

#include "kernel/judge/batch.h"
#include "kernel/judge/judge_test_support.h"

namespace kw {
namespace {

const std::string good_relu = R"(
__global__ void relu(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] > 0.0f ? x[i] : 0.0f;
}
extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  relu<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
)";

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), with);
}

TEST(Judge, GivesACorrectKernelATime) {
  const Verdict verdict = test_judge().judge(suite_task("relu"), good_relu, "relu.cu");
  EXPECT_EQ(verdict.status, VerdictStatus::correct) << describe(verdict);
  EXPECT_TRUE(verdict.compiled && verdict.correct);
  ASSERT_TRUE(verdict.time_us && verdict.speedup_naive && verdict.time_interval_us);
  EXPECT_EQ(verdict.time_source, "modelled");
  EXPECT_LT(verdict.time_interval_us->low, *verdict.time_us);
  EXPECT_GT(verdict.time_interval_us->high, *verdict.time_us);
  EXPECT_NEAR(*verdict.speedup_naive, 1, 0.2);
  EXPECT_FALSE(verdict.limiter.empty());
  EXPECT_NE(verdict.feedback.find("status: correct"), std::string::npos);
  EXPECT_NE(verdict.feedback.find("limited by"), std::string::npos);
}

TEST(Judge, NamesTheLineThatStoredAWrongValue) {
  const Verdict verdict =
      test_judge().judge(suite_task("relu"), replaced(good_relu, "? x[i] : 0.0f", "? x[i] : 0.5f"), "r.cu");
  EXPECT_EQ(verdict.status, VerdictStatus::wrong);
  ASSERT_FALSE(verdict.findings.empty());
  EXPECT_EQ(verdict.findings[0].kind, "wrong_result");
  EXPECT_EQ(verdict.findings[0].line, 4);
  EXPECT_NE(verdict.feedback.find("y[i] = x[i] > 0.0f"), std::string::npos) << verdict.feedback;
}

TEST(Judge, TellsWhatIsNoKernelWithoutCompilingIt) {
  const Task task = suite_task("relu");
  const std::pair<std::string, std::string> files[] = {
      {"empty", ""},
      {"shell script", "#!/bin/sh\nrm -rf /\n"},
      {"binary", std::string("\x7f"
                             "ELF\0\1\2\3\xff\xfe",
                             10)},
      {"no launcher", "int add(int a, int b) { return a + b; }\n"},
      {"huge", std::string(50u << 20, 'x')},
      {"deep", std::string(100'000, '(')},
      {"zeros", std::string(1000, '\0')},
  };
  for (const auto& [name, text] : files) {
    SCOPED_TRACE(name);
    const Verdict verdict = test_judge().judge(task, text, "x.cu");
    EXPECT_TRUE(verdict.status == VerdictStatus::rejected || verdict.status == VerdictStatus::launcher_error)
        << describe(verdict);
    EXPECT_FALSE(verdict.summary.empty());
    EXPECT_EQ(verdict.compile_ms, 0);
    for (const auto& [stage, ms] : verdict.stages_ms) EXPECT_EQ(stage, "read") << "more was done than reading it";
  }
}

TEST(Judge, VerdictsSurviveJson) {
  const Verdict verdict = test_judge().judge(suite_task("relu"), replaced(good_relu, "i < n", "i <= n"), "r.cu");
  EXPECT_EQ(verdict.status, VerdictStatus::fault) << describe(verdict);
  const auto json = to_json(verdict);
  const auto again = verdict_from_json(json);
  ASSERT_TRUE(again.ok()) << to_string(again.error());
  EXPECT_EQ(to_json(*again).dump(), json.dump());
  EXPECT_FALSE(verdict_from_json(nlohmann::ordered_json::object()).ok());
}

TEST(Judge, KeepsVerdicts) {
  TemporaryFolder folder;
  JudgeOptions options;
  options.profile = load_profile("h200").value();
  options.secret = "s";
  options.cache_folder = folder.path();
  Judge judge(test_service(), options);
  const Task task = suite_task("relu");
  const Verdict first = judge.judge(task, good_relu, "a.cu");
  const Verdict second = judge.judge(task, good_relu, "b.cu");
  EXPECT_FALSE(first.from_cache);
  EXPECT_TRUE(second.from_cache);
  EXPECT_EQ(second.kernel_file, "b.cu");
  EXPECT_EQ(first.time_us, second.time_us);
  Task other = task;
  other.pytorch += "\n# changed";
  EXPECT_FALSE(judge.judge(other, good_relu, "a.cu").from_cache);
}

// Tasks that differ in name alone: each has references of its own.
Task numbered_relu(int number) {
  Task task = suite_task("relu");
  task.name = "relu_" + std::to_string(number);
  task.sizes_train.resize(1);
  return task;
}

JudgeOptions options_keeping(RecentLimits limits) {
  JudgeOptions options = test_judge().options();
  options.full_size = false;
  options.kept_tasks = limits;
  return options;
}

TEST(Judge, ForgetsTasksThatDoNotComeAgain) {
  Judge judge(test_service(), options_keeping({4, std::uint64_t{1} << 40}));
  const std::string wrong = replaced(good_relu, "? x[i] : 0.0f", "? x[i] : 0.5f");
  const Verdict right_first = judge.judge(numbered_relu(0), good_relu, "a.cu"),
                wrong_first = judge.judge(numbered_relu(0), wrong, "b.cu");
  EXPECT_EQ(judge.kept_tasks(), 1u);
  const std::uint64_t one_task = judge.kept_bytes();
  EXPECT_GT(one_task, 1000u) << "inputs and answers are counted";
  for (int i = 1; i <= 300; ++i) {
    // Mostly not even read: a task is known from the moment when something was asked about it.
    const Verdict verdict = judge.judge(numbered_relu(i), i % 100 == 0 ? good_relu : "", "c.cu");
    EXPECT_EQ(verdict.correct, i % 100 == 0) << describe(verdict);
    ASSERT_LE(judge.kept_tasks(), 4u);
  }
  EXPECT_LE(judge.kept_bytes(), 4 * one_task * 2);
  auto as_before = [](Verdict verdict) {
    auto json = to_json(verdict);
    for (const char* measured : {"judge_ms", "compile_ms", "stages_ms"}) json.erase(measured);
    return json.dump(1);
  };
  EXPECT_EQ(as_before(judge.judge(numbered_relu(0), good_relu, "a.cu")), as_before(right_first));
  EXPECT_EQ(as_before(judge.judge(numbered_relu(0), wrong, "b.cu")), as_before(wrong_first));
}

TEST(Judge, ForgetsTasksThatTakeTooMuchMemory) {
  Judge judge(test_service(), options_keeping({1000, 1}));
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(judge.judge(numbered_relu(i), good_relu, "a.cu").correct);
    EXPECT_EQ(judge.kept_tasks(), 1u) << "the newest is kept whatever it takes";
  }
}

TEST(Batch, GoesOnWhereItWasStopped) {
  TemporaryFolder folder;
  const auto jobs = folder.path() / "jobs.jsonl", out = folder.path() / "verdicts.jsonl";
  {
    std::ofstream file(jobs);
    for (int i = 0; i < 4; ++i)
      file << nlohmann::json{{"id", std::to_string(i)}, {"task", "relu"}, {"kernel", i == 3 ? "" : good_relu}}.dump()
           << "\n";
  }
  BatchOptions options{jobs, out, 2, false};
  const auto first = judge_batch(test_judge(), source_root() / "tasks", options);
  ASSERT_TRUE(first.ok()) << to_string(first.error());
  EXPECT_EQ(first->judged, 4u);
  EXPECT_EQ(first->by_status.at("correct"), 3u);
  // As a kill in the middle of a line would leave it.
  std::string text = file_text(out);
  const std::size_t third = text.find('\n', text.find('\n') + 1) + 1;
  std::ofstream(out) << text.substr(0, third + 40);
  const auto second = judge_batch(test_judge(), source_root() / "tasks", options);
  ASSERT_TRUE(second.ok()) << to_string(second.error());
  EXPECT_EQ(second->already_done, 2u);
  EXPECT_EQ(second->judged, 2u);
  text = file_text(out);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4);
}

TEST(Batch, RefusesWhatIsNoJobWithItsLine) {
  TemporaryFolder folder;
  const auto jobs = folder.path() / "jobs.jsonl";
  for (const std::string bad : {"{}", "[1]", "not json", R"({"id": 1, "task": "relu", "kernel": "x"})",
                                R"({"id": "a", "task": "relu"})", R"({"id": "0", "task": "relu", "kernel": "x"})"}) {
    std::ofstream(jobs) << R"({"id": "0", "task": "relu", "kernel": "x"})" << "\n" << bad << "\n";
    const auto ran = judge_batch(test_judge(), source_root() / "tasks", {jobs, folder.path() / "out", 1, false});
    ASSERT_FALSE(ran.ok()) << bad;
    EXPECT_EQ(ran.error().where.line, 2) << bad;
  }
}

}  // namespace
}  // namespace kw
