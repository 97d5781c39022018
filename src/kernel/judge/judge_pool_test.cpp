#include "kernel/judge/judge_pool.h"

#include <atomic>
#include <semaphore>
#include <set>

#include "kernel/judge/judge_test_support.h"

namespace kw {
namespace {

using namespace std::chrono_literals;
using SharedVerdict = std::shared_ptr<const Verdict>;

std::shared_ptr<const Task> relu() {
  static const auto task = std::make_shared<const Task>(suite_task("relu"));
  return task;
}

// Small sizes alone: what is tested here is the pool.
Judge& quick_judge() {
  static Judge judge(test_service(), [] {
    JudgeOptions options = test_judge().options();
    options.full_size = false;
    return options;
  }());
  return judge;
}

// Refused at a glance, each with a text of its own.
std::string kernel_number(int number) { return "// " + std::to_string(number) + "\n"; }

// Lets no judgement begin until it is told to.
struct Gate {
  std::counting_semaphore<> open{0};
  std::counting_semaphore<> arrived{0};
  JudgePoolOptions options(int workers, std::size_t most_waiting = 1000) {
    return {workers,
            most_waiting,
            [this] {
              arrived.release();
              open.acquire();
            },
            {}};
  }
};

TEST(JudgePool, EqualKernelsAreJudgedOnce) {
  JudgePool pool(quick_judge(), {2});
  const auto equal_task = std::make_shared<const Task>(*relu());  // another object with the same contents
  auto other_task = std::make_shared<Task>(*relu());
  other_task->name = "other";
  auto one = pool.submit(relu(), relu()->naive), twin = pool.submit(equal_task, relu()->naive),
       other = pool.submit(other_task, relu()->naive);
  const SharedVerdict verdict = one.get();
  EXPECT_TRUE(verdict->correct) << describe(*verdict);
  EXPECT_EQ(twin.get(), verdict);
  EXPECT_NE(other.get(), verdict);
  EXPECT_EQ(pool.submit(relu(), relu()->naive).get(), verdict) << "it is still held";
  EXPECT_EQ(pool.submitted(), 4);
  EXPECT_EQ(pool.judged(), 2);
}

TEST(JudgePool, AVerdictThatNobodyHoldsIsMadeAgain) {
  JudgePool pool(quick_judge(), {1});
  // When the second one is answered, the thread has let the first one's verdict go.
  for (const int number : {0, 1, 0}) pool.submit(relu(), kernel_number(number)).get();
  EXPECT_EQ(pool.judged(), 3);
}

TEST(JudgePool, TheQueueIsBounded) {
  Gate gate;
  JudgePool pool(quick_judge(), gate.options(1, 2));
  VerdictBox box;
  ASSERT_TRUE(pool.submit(relu(), kernel_number(0), box.slot(0)));
  gate.arrived.acquire();  // number 0 is being judged and waits no more
  ASSERT_TRUE(pool.submit(relu(), kernel_number(1), box.slot(1)));
  ASSERT_TRUE(pool.submit(relu(), kernel_number(2), box.slot(2)));
  EXPECT_FALSE(pool.submit(relu(), kernel_number(3), box.slot(3), 0ms)) << "there is no room";
  EXPECT_TRUE(pool.submit(relu(), kernel_number(2), box.slot(4), 0ms)) << "a twin takes none";
  EXPECT_EQ(pool.waiting(), 2u);
  std::jthread later([&] { EXPECT_TRUE(pool.submit(relu(), kernel_number(3), box.slot(3))); });
  gate.open.release(4);
  later.join();
  std::set<std::uint64_t> seen;
  while (seen.size() < 5) {
    ASSERT_TRUE(box.wait(10min));
    for (const VerdictBox::Judged& judged : box.take()) EXPECT_TRUE(seen.insert(judged.tag).second);
  }
}

TEST(JudgePool, WhatIsCancelledIsNotAnswered) {
  Gate gate;
  JudgePool pool(quick_judge(), gate.options(1));
  std::atomic<int> answers = 0;
  const auto count = [&](const SharedVerdict&) { ++answers; };
  const auto judged = pool.submit(relu(), kernel_number(0), count);
  gate.arrived.acquire();
  const auto waits = pool.submit(relu(), kernel_number(1), count), twin = pool.submit(relu(), kernel_number(1), count);
  EXPECT_TRUE(pool.cancel(*judged)) << "it is judged to its end, and nobody is told";
  EXPECT_TRUE(pool.cancel(*waits));
  EXPECT_EQ(pool.waiting(), 1u) << "its twin still wants it";
  EXPECT_TRUE(pool.cancel(*twin));
  EXPECT_EQ(pool.waiting(), 0u);
  EXPECT_FALSE(pool.cancel(*twin));
  auto last = pool.submit(relu(), kernel_number(2));
  gate.open.release(2);
  last.get();
  EXPECT_EQ(answers, 0);
  EXPECT_EQ(pool.judged(), 2);
}

TEST(JudgePool, ItsEndDropsWhatWaits) {
  Gate gate;
  std::atomic<int> answers = 0;
  std::future<SharedVerdict> dropped;
  {
    JudgePool pool(quick_judge(), gate.options(1));
    pool.submit(relu(), kernel_number(0), [&](const SharedVerdict&) {
      // Until the pool takes nothing more: it is ending.
      while (const auto twin = pool.submit(relu(), kernel_number(1), {}, 0ms)) pool.cancel(*twin);
      ++answers;
    });
    gate.arrived.acquire();
    dropped = pool.submit(relu(), kernel_number(1));
    gate.open.release();
  }
  EXPECT_EQ(answers, 1) << "what is being judged is answered";
  EXPECT_THROW(dropped.get(), std::future_error);
}

TEST(JudgePool, ManyThreadsHandKernelsIn) {
  JudgePool pool(quick_judge(), {3, 4, {}, {}});
  std::atomic<int> answers = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 50; ++i) {
          pool.submit(relu(), kernel_number(i), [&](const SharedVerdict& verdict) {
            EXPECT_FALSE(verdict->correct);
            ++answers;
          });
        }
      });
  }
  std::vector<int> done(20);
  pool.for_each(done.size(), [&](std::size_t i) { done[i] = quick_judge().judge(*relu(), "", "").correct ? 0 : 1; });
  EXPECT_EQ(std::count(done.begin(), done.end(), 1), 20);
  while (answers < 200) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(pool.submitted(), 200);
}

TEST(JudgePool, SomeAreTakenWithoutRoom) {
  Gate gate;
  JudgePool pool(quick_judge(), gate.options(1, 1));
  VerdictBox box;
  for (int i = 0; i < 5; ++i) pool.submit_now(relu(), kernel_number(i), box.slot(static_cast<std::uint64_t>(i)));
  gate.arrived.acquire();
  EXPECT_EQ(pool.waiting(), 4u);
  EXPECT_FALSE(pool.submit(relu(), kernel_number(9), box.slot(9), 0ms)) << "the others are still refused";
  gate.open.release(5);
  std::set<std::uint64_t> seen;
  while (seen.size() < 5) {
    ASSERT_TRUE(box.wait(10min));
    for (const VerdictBox::Judged& judged : box.take()) seen.insert(judged.tag);
  }
}

TEST(JudgePool, WhoeverWaitsForVerdictsCanBeWoken) {
  VerdictBox box;
  for (const bool before : {true, false}) {
    if (before) box.wake();
    auto waiting = std::async(std::launch::async, [&] { return box.wait(30min); });
    if (!before) box.wake();
    ASSERT_EQ(waiting.wait_for(10min), std::future_status::ready) << before;
    EXPECT_FALSE(waiting.get()) << "there is nothing to take";
  }
}

TEST(JudgePoolSlow, NothingIsKeptOfAHundredThousandTasks) {
  JudgeOptions options = quick_judge().options();
  options.kept_tasks = {16, std::uint64_t{1} << 30};
  Judge judge(test_service(), options);
  JudgePool pool(judge, {2, 256, {}, {}});
  std::atomic<int> answers = 0;
  std::size_t most = 0;
  constexpr int kernels = 100'000;
  for (int i = 0; i < kernels; ++i) {
    auto task = std::make_shared<Task>(*relu());
    task->name = std::to_string(i);
    ASSERT_TRUE(pool.submit(task, kernel_number(i), [&](const SharedVerdict&) { ++answers; }));
    most = std::max(most, pool.remembered());
  }
  while (answers < kernels) std::this_thread::sleep_for(1ms);
  EXPECT_LE(most, 2048u);
  EXPECT_LE(judge.kept_tasks(), 16u);
}

}  // namespace
}  // namespace kw
