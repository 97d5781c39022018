#include "kernel/counters/advice.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

std::string text_of(const CounterAdvice& advice) {
  std::string text = advice.limiter;
  for (const std::string& sentence : advice.sentences) text += "\n" + sentence;
  return text;
}

bool says(const CounterAdvice& advice, const std::string& words) {
  return text_of(advice).find(words) != std::string::npos;
}

// A kernel that has nothing wrong with it.
KernelCounters healthy() {
  KernelCounters counters;
  counters.duration_us = 60;
  counters.achieved_occupancy = 0.85;
  counters.dram_throughput = 0.2;
  counters.l2_throughput = 0.2;
  counters.l1_throughput = 0.2;
  counters.shared_throughput = 0;
  counters.warp_efficiency = 1;
  counters.sectors_per_request_load = 4;
  counters.sectors_per_request_store = 4;
  counters.shared_bank_conflict_share = 0;
  counters.issue_rate = 0.2;
  return counters;
}

TEST(Advice, MemoryBound) {
  KernelCounters counters = healthy();
  counters.dram_throughput = 0.92;
  counters.l2_throughput = 0.55;
  counters.stalls = {{"long_scoreboard", 0.85}};
  const CounterAdvice advice = advise(counters, {4, 4});
  EXPECT_EQ(advice.limiter, "dram bandwidth");
  ASSERT_FALSE(advice.sentences.empty());
  EXPECT_TRUE(advice.sentences[0].starts_with("DRAM is at 92 % of its peak")) << text_of(advice);
  EXPECT_FALSE(says(advice, "sectors")) << text_of(advice);
}

TEST(Advice, UncoalescedLoads) {
  KernelCounters counters = healthy();
  counters.l2_throughput = 0.8;
  counters.sectors_per_request_load = 8;
  CounterAdvice advice = advise(counters, {4, 4});
  EXPECT_EQ(advice.limiter, "l2 bandwidth");
  ASSERT_FALSE(advice.sentences.empty());
  EXPECT_EQ(advice.sentences[0],
            "8.0 sectors per load request: 4 would do; make neighbouring threads read neighbouring addresses");
  // float2 needs 8, and without the width nobody can tell.
  EXPECT_FALSE(says(advise(counters, {8, 4}), "sectors"));
  EXPECT_TRUE(says(advise(counters), "a warp needs 8 for 8 bytes a thread and 4 for 4"));
  counters.sectors_per_request_load = 13;
  EXPECT_TRUE(
      says(advise(counters), "13.0 sectors of 32 bytes per load request: a warp needs 16 for 16 bytes a thread"));
  counters.sectors_per_request_load = 31.9;
  advice = advise(counters);
  EXPECT_TRUE(advice.sentences[0].starts_with("31.9 sectors per load request: 4 would do for 4-byte values"))
      << text_of(advice);
  counters.sectors_per_request_store = 32;
  EXPECT_TRUE(says(advise(counters), "make neighbouring threads write neighbouring addresses"));
}

TEST(Advice, LatencyBound) {
  KernelCounters counters = healthy();
  counters.achieved_occupancy = 0.12;
  counters.stalls = {{"long_scoreboard", 0.7}, {"wait", 0.1}};
  const CounterAdvice advice = advise(counters, {4, 4});
  EXPECT_EQ(advice.limiter, "latency");
  EXPECT_TRUE(says(advice, "only 12 % of the possible warps are resident")) << text_of(advice);
  EXPECT_TRUE(says(advice, "warps wait 70 % of their time for global memory")) << text_of(advice);
  EXPECT_FALSE(says(advice, "fixed instruction latencies"));
}

TEST(Advice, ShortKernel) {
  KernelCounters counters = healthy();
  counters.duration_us = 1.9;
  const CounterAdvice advice = advise(counters, {4, 4});
  EXPECT_EQ(advice.limiter, "launch overhead");
  EXPECT_TRUE(says(advice, "runs only 1.9 us"));
}

TEST(Advice, BankConflicts) {
  KernelCounters counters = healthy();
  counters.l1_throughput = 0.95;
  counters.shared_throughput = 0.94;
  counters.shared_bank_conflict_share = 0.96;
  const CounterAdvice advice = advise(counters, {4, 4});
  EXPECT_EQ(advice.limiter, "shared memory");
  ASSERT_FALSE(advice.sentences.empty());
  EXPECT_TRUE(advice.sentences[0].starts_with("96 % of the shared memory accesses are repeats because of bank"))
      << text_of(advice);
  // Conflicts of a kernel that hardly uses shared memory do not matter.
  counters.l1_throughput = 0.2;
  counters.shared_throughput = 0.01;
  EXPECT_FALSE(says(advise(counters, {4, 4}), "bank conflicts"));
}

TEST(Advice, ComputeBound) {
  KernelCounters counters = healthy();
  counters.pipes = {{"fp32 pipe", 0.9}, {"int pipe", 0.3}};
  counters.issue_rate = 0.8;
  EXPECT_EQ(advise(counters).limiter, "fp32 pipe");
  counters.pipes = {{"tensor pipe", 0.9}};
  EXPECT_EQ(advise(counters).limiter, "tensor pipe");
  counters.pipes = {{"fp32 pipe", 0.5}};
  EXPECT_EQ(advise(counters).limiter, "issue");
  counters.warp_efficiency = 0.25;
  EXPECT_TRUE(says(advise(counters), "8.0 of 32 threads are active")) << text_of(advise(counters));
}

TEST(Advice, AtMostThreeSentences) {
  KernelCounters counters = healthy();
  counters.achieved_occupancy = 0.1;
  counters.warp_efficiency = 0.2;
  counters.sectors_per_request_load = 32;
  counters.sectors_per_request_store = 32;
  counters.shared_bank_conflict_share = 0.9;
  counters.shared_throughput = 0.4;
  counters.stalls = {{"barrier", 0.5}, {"long_scoreboard", 0.4}};
  EXPECT_EQ(advise(counters).sentences.size(), 3u);
}

TEST(Advice, NothingMeasured) {
  const CounterAdvice advice = advise(KernelCounters{});
  EXPECT_EQ(advice.limiter, "unknown");
  EXPECT_TRUE(advice.sentences.empty()) << text_of(advice);
}

}  // namespace
}  // namespace kw
