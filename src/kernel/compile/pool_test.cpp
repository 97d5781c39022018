#include "kernel/compile/pool.h"

#include <dirent.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <functional>
#include <thread>

#include "kernel/compile/service.h"

namespace kw {
namespace {

using namespace std::chrono_literals;

CompilerJob plain_job(int value = 1) {
  return {"__global__ void k(int* x) { *x = " + std::to_string(value) + "; }\n", {"--gpu-architecture=compute_90"}, {}};
}

// Takes far longer than any test waits.
CompilerJob endless_job() {
  return {
      "template <int n, long id> struct T { T<n - 1, 2 * id> a; T<n - 1, 2 * id + 1> b; };\n"
      "template <long id> struct T<0, id> { int leaf; };\n__global__ void k(int* x) { *x = sizeof(T<40, 1>); }\n",
      {"--gpu-architecture=compute_90"},
      {}};
}

const CompileLimits without_limits{.wall_ms = 36'000'000, .cpu_seconds = 36'000};

bool eventually(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + 10min;  // of what never comes
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(5ms);
  }
  return true;
}

// Of the parent process `pid`, in any state.
std::vector<int> children_of(int pid) {
  std::vector<int> children;
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task", gone)) {
    std::ifstream file(entry.path() / "children");
    for (int child = 0; file >> child;) children.push_back(child);
  }
  return children;
}

bool is_gone(int pid) { return ::kill(pid, 0) != 0; }

TEST(CompilePool, SaysWhatItIs) {
  CompilePool pool({.workers = 1});
  const Result<PoolFacts> facts = pool.facts();
  ASSERT_TRUE(facts) << to_string(facts.error());
  EXPECT_THAT(facts->compiler_version, testing::StartsWith("13."));
  EXPECT_TRUE(facts->protection.syscall_filter);
  EXPECT_EQ(facts->protection, probe_protection());
}

TEST(CompilePool, WeakerModeWorksToo) {
  CompilePool pool({.workers = 1, .namespaces = false});
  EXPECT_EQ(pool.submit(plain_job(), without_limits).get().status, CompileStatus::compiled);
  EXPECT_FALSE(pool.facts()->protection.full());
}

TEST(CompilePool, AWorkerThatDiedIdleIsReplacedUnnoticed) {
  CompilePool pool({.workers = 1});
  ASSERT_TRUE(pool.facts());
  const int first = pool.worker_pids().at(0);
  ::kill(first, SIGKILL);
  EXPECT_EQ(pool.submit(plain_job(), without_limits).get().status, CompileStatus::compiled);
  EXPECT_NE(pool.worker_pids().at(0), first);
}

bool at_work(CompilePool& pool) {
  const std::vector<int> pids = pool.worker_pids();
  return pids.size() == 1 && !children_of(pids[0]).empty();
}

// Only its own limit ends the job: it goes on in a new worker.
TEST(CompilePool, AWorkerThatDiesAtWorkCostsNoJob) {
  CompilePool pool({.workers = 1});
  ASSERT_TRUE(pool.facts());
  CompileLimits limits;
  // A slow machine may not even begin within the first limit; then it gets a longer one.
  bool killed = false;
  for (limits.wall_ms = 3000; !killed && limits.wall_ms < 1'000'000; limits.wall_ms *= 2) {
    auto lost = pool.submit(endless_job(), limits);
    ASSERT_TRUE(eventually([&] { return at_work(pool) || lost.wait_for(0s) == std::future_status::ready; }));
    killed = at_work(pool) && ::kill(pool.worker_pids().at(0), SIGKILL) == 0;
    EXPECT_EQ(lost.get().status, CompileStatus::timeout);
  }
  EXPECT_TRUE(killed);
  EXPECT_EQ(pool.submit(plain_job(), without_limits).get().status, CompileStatus::compiled);
}

TEST(CompilePool, AJobWhoseWorkersAllDieEnds) {
  CompilePool pool({.workers = 1});
  ASSERT_TRUE(pool.facts());
  auto lost = pool.submit(endless_job(), without_limits);
  for (int last = 0, killed = 0; killed < 4; ++killed) {
    ASSERT_TRUE(eventually([&] { return at_work(pool) && pool.worker_pids().at(0) != last; }));
    last = pool.worker_pids().at(0);
    ::kill(last, SIGKILL);
  }
  EXPECT_EQ(lost.get().status, CompileStatus::internal_error);
  EXPECT_EQ(pool.submit(plain_job(), without_limits).get().status, CompileStatus::compiled);
}

TEST(CompilePool, AStoppedWorkerIsKilledAtTheDeadline) {
  CompilePool pool({.workers = 1});
  ASSERT_TRUE(pool.facts());
  ::kill(pool.worker_pids().at(0), SIGSTOP);
  CompileLimits limits;
  limits.wall_ms = 100;
  EXPECT_EQ(pool.submit(plain_job(), limits).get().status, CompileStatus::timeout);
  EXPECT_EQ(pool.submit(plain_job(), without_limits).get().status, CompileStatus::compiled);
}

TEST(CompilePool, TimeoutKeepsTheWorker) {
  CompilePool pool({.workers = 1});
  ASSERT_TRUE(pool.facts());
  const int worker = pool.worker_pids().at(0);
  CompileLimits limits;
  limits.wall_ms = 200;
  EXPECT_EQ(pool.submit(endless_job(), limits).get().status, CompileStatus::timeout);
  EXPECT_EQ(pool.worker_pids().at(0), worker);
  EXPECT_TRUE(children_of(worker).empty());
}

TEST(CompilePool, EndsAtOnceWhateverRuns) {
  const std::vector<int> before = children_of(::getpid());  // of pools that other tests share
  std::future<JobResult> running;
  std::future<JobResult> waiting;
  std::vector<int> pids;
  {
    CompilePool pool({.workers = 1});
    ASSERT_TRUE(pool.facts());
    pids = pool.worker_pids();
    running = pool.submit(endless_job(), without_limits);  // who waited for its end would wait for hours
    waiting = pool.submit(plain_job(), without_limits);
    ASSERT_TRUE(eventually([&] { return at_work(pool); }));
  }
  EXPECT_EQ(running.get().status, CompileStatus::internal_error);
  EXPECT_EQ(waiting.get().status, CompileStatus::internal_error);
  for (const int pid : pids) EXPECT_TRUE(is_gone(pid));
  EXPECT_EQ(children_of(::getpid()), before) << "a zombie is left";
}

// kill -9 of the program: neither workers nor running compilations stay behind, with and without namespaces.
class KilledParent : public testing::TestWithParam<bool> {};

TEST_P(KilledParent, LeavesNoProcess) {
  std::array<int, 2> channel{};
  ASSERT_EQ(::pipe(channel.data()), 0);
  const pid_t parent = ::fork();
  if (parent == 0) {
    CompilePool pool({.workers = 2, .namespaces = GetParam()});
    if (!pool.facts()) ::_exit(1);
    auto one = pool.submit(endless_job(), without_limits);
    auto two = pool.submit(endless_job(), without_limits);
    const auto all_at_work = [&] {
      const std::vector<int> pids = pool.worker_pids();
      return pids.size() == 2 && !children_of(pids[0]).empty() && !children_of(pids[1]).empty();
    };
    if (!eventually(all_at_work)) ::_exit(3);
    const char ready = 'r';
    if (::write(channel[1], &ready, 1) != 1) ::_exit(2);
    ::pause();
  }
  char ready = 0;
  ASSERT_EQ(::read(channel[0], &ready, 1), 1);
  std::vector<int> all = children_of(parent);
  EXPECT_EQ(all.size(), 2u);
  for (const int worker : children_of(parent)) {
    for (const int compilation : children_of(worker)) all.push_back(compilation);
  }
  EXPECT_EQ(all.size(), 4u);
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  for (const int pid : all) EXPECT_TRUE(eventually([&] { return is_gone(pid); })) << pid;
  ::close(channel[0]);
  ::close(channel[1]);
}

INSTANTIATE_TEST_SUITE_P(Modes, KilledParent, testing::Bool(),
                         [](const auto& mode) { return mode.param ? "Namespaces" : "WeakerMode"; });

TEST(CompilePool, AWrongCudaFolderIsPassedOver) {
  const char* chosen = ::getenv("KERNELWRIGHT_CUDA");
  const std::string before = chosen != nullptr ? chosen : "";
  ::setenv("KERNELWRIGHT_CUDA", "/nonexistent", 1);
  CompilePool pool({.workers = 1});
  EXPECT_TRUE(pool.facts());
  ::setenv("KERNELWRIGHT_CUDA", before.c_str(), 1);
}

}  // namespace
}  // namespace kw
