// A run in which nothing goes well: the judge's workers are killed all the time, and a tenth of the kernels hang or
// crash, on the device or in the compiler (src/kernel/compile/hostile_test.cpp has more of these).

#include <csignal>
#include <thread>

#include <fmt/format.h>

#include "base/random.h"
#include "learn/rl/reinforce_test_support.h"

namespace kw {
namespace {

using namespace std::chrono_literals;

// Ends a worker whenever it is asked to: how many are lost depends on the work, not on how long it takes.
class WorkerKiller {
 public:
  explicit WorkerKiller(CompilePool& pool) : pool_(pool), thread_([this](std::stop_token stop) { work(stop); }) {}
  void kill_one() { ++wanted_; }
  int killed() const { return killed_; }

 private:
  void work(const std::stop_token& stop) {
    Random random(20261116);
    for (int last = 0; !stop.stop_requested(); std::this_thread::sleep_for(2ms)) {
      const std::vector<int> pids = pool_.worker_pids();
      if (killed_ >= wanted_ || pids.empty()) continue;
      const auto chosen = random.integer(0, static_cast<std::int64_t>(pids.size()) - 1);
      const int pid = pids[static_cast<std::size_t>(chosen)];
      if (pid == last) continue;  // the pool may not have noticed yet
      last = pid;
      killed_ += ::kill(pid, SIGKILL) == 0;
    }
  }

  CompilePool& pool_;
  std::atomic<int> wanted_ = 0;
  std::atomic<int> killed_ = 0;
  std::jthread thread_;
};

// `text` as the first statement of the first kernel.
std::string with_statement(std::string kernel, const std::string& text) {
  const std::size_t body = kernel.find('{', kernel.find("__global__"));
  return kernel.insert(body + 1, "\n" + text + "\n");
}

bool is_hostile(const Episode& episode) { return episode.request.number % 10 == 3; }

std::string kernel_for(const Episode& episode) {
  const std::uint64_t number = episode.request.number;
  // Not two alike: the judge would look at one of them only.
  std::string kernel = fmt::format("__device__ int number_{}() {{ return {}; }}\n", number, number);
  kernel += episode.request.task->naive;
  if (!is_hostile(episode)) return kernel;
  switch (number / 10 % 4) {
    case 0:
      return with_statement(kernel, "for (volatile int turn = 0; turn == 0;) {}");
    case 1:
      return with_statement(kernel, "*reinterpret_cast<volatile int*>(8) = 1;");
    case 2:  // the compiler does not come to an end
      return "template <int n, long id> struct T { T<n - 1, 2 * id> a; T<n - 1, 2 * id + 1> b; };\n"
             "template <long id> struct T<0, id> { int leaf; };\n" +
             with_statement(kernel, "volatile long size = sizeof(T<40, 1>);");
    default:
      return with_statement(kernel, "if (threadIdx.x == 0) __syncthreads();");
  }
}

struct FaultRun {
  std::vector<float> weights;
  LogInMemory log;
  std::int64_t steps = 0;
  std::int64_t hostile = 0, honest = 0, right = 0, not_judged = 0;
  double most_for_hostile = 0, least_for_right = 1;
  int killed = 0;
};

FaultRun fault_run(bool disturbed) {
  ServiceOptions service_options;
  service_options.pool.workers = 2;
  service_options.disk_cache = false;
  CompileService service(service_options);
  JudgeOptions judge_options = test_judge().options();
  Judge judge(service, judge_options);
  FaultRun run;
  TemporaryFolder folder;
  ReinforceOptions options = short_run();
  options.group = 5;
  options.judge_workers = 2;
  options.conversations = folder.path() / "conversations";
  ReinforceHooks hooks;
  std::optional<WorkerKiller> killer;
  std::atomic<int> events = 0;
  const auto disturb = [&] {  // 16 times in a run of 40 answers
    if (killer && ++events % 5 == 0) killer->kill_one();
  };
  hooks.episode.on_said = [&](const Episode& episode, const Turn&, GeneratedSample& said) {
    disturb();
    said.text = kernel_for(episode);
    said.finish = FinishReason::stop_token;
  };
  hooks.pay = [&](const Episode& episode, const Turn&, TurnSample& sample) {
    disturb();
    ASSERT_TRUE(sample.verdict) << sample.message;
    const Verdict& verdict = *sample.verdict;
    if (verdict.status == VerdictStatus::internal_error) {
      ++run.not_judged;
      EXPECT_FALSE(sample.rewarded) << "paid for what the judge could not say";
      return;
    }
    EXPECT_TRUE(sample.rewarded);
    if (is_hostile(episode)) {
      ++run.hostile;
      EXPECT_NE(verdict.status, VerdictStatus::correct) << describe(verdict);
      EXPECT_NE(verdict.status, VerdictStatus::unsupported) << describe(verdict);
      run.most_for_hostile = std::max(run.most_for_hostile, sample.reward);
    } else {
      ++run.honest;
      run.right += verdict.status == VerdictStatus::correct;
      EXPECT_EQ(verdict.status, VerdictStatus::correct) << describe(verdict);
      run.least_for_right = std::min(run.least_for_right, sample.reward);
    }
  };
  const auto learner = test_learner();
  Checkpoints checkpoints = Checkpoints::open(folder.path() / "checkpoints").value();
  EXPECT_TRUE(service.facts().ok());
  if (disturbed) killer.emplace(service.pool());
  const auto summary =
      reinforce({.policy = *learner}, judge, test_pool(), test_curriculum(), options, checkpoints, run.log, hooks);
  if (killer) run.killed = killer->killed();
  EXPECT_TRUE(summary.ok()) << to_string(summary.error());
  if (summary.ok()) run.steps = summary->last.step;
  run.weights = weights_of(*learner);
  return run;
}

TEST(FaultRunSlow, KilledWorkersAndKernelsThatHangOrCrashDoNotStopIt) {
  const FaultRun undisturbed = fault_run(false), disturbed = fault_run(true);
  for (const FaultRun& run : {undisturbed, disturbed}) {
    EXPECT_EQ(run.steps, 4);
    EXPECT_EQ(run.hostile + run.honest + run.not_judged, 40);
    EXPECT_LT(run.most_for_hostile, run.least_for_right);
  }
  EXPECT_EQ(undisturbed.not_judged, 0);
  EXPECT_EQ(undisturbed.hostile, 4);
  EXPECT_GE(disturbed.killed, 3);
  // A job whose worker was killed is done by another, three times at most: where that worked out every time, not a bit
  // is different.
  EXPECT_LE(disturbed.not_judged, disturbed.killed / 4 + 1);
  if (disturbed.not_judged == 0) {
    EXPECT_EQ(disturbed.weights, undisturbed.weights);
    EXPECT_EQ(disturbed.log.lines, undisturbed.log.lines);
  }
  std::cout << fmt::format(
      "{} workers killed; of 40 kernels {} were hostile and paid as failed, {} right, {} not judged\n",
      disturbed.killed, disturbed.hostile, disturbed.right, disturbed.not_judged);
}

}  // namespace
}  // namespace kw
