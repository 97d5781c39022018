#include "kernel/counters/advice.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>

namespace kw {
namespace {

// Below this share of its peak a unit is not what a kernel waits for (Nsight Compute's speed-of-light rule: 60 %).
constexpr double saturated = 0.6;
constexpr double short_kernel_us = 4;  // about what a launch costs
constexpr std::size_t max_sentences = 3;

struct Sentence {
  double promise = 0;  // rough share of the time that following it could save; only the order counts
  std::string text;
};

std::string fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, std::clamp(value, -1e12, 1e12));
  return text;
}
std::string percent(double share) { return fixed(100 * share, 0) + " %"; }

double share_of(const std::vector<NamedShare>& shares, std::string_view name) {
  const auto found = std::find_if(shares.begin(), shares.end(), [&](const auto& one) { return one.name == name; });
  return found != shares.end() ? found->share : 0;
}

std::string limiter_of(const KernelCounters& counters) {
  NamedShare busiest{"unknown", not_measured};
  const auto offer = [&](std::string_view name, double share) {
    if (measured(share) && (!measured(busiest.share) || share > busiest.share)) busiest = {std::string(name), share};
  };
  offer("dram bandwidth", counters.dram_throughput);
  offer("l2 bandwidth", counters.l2_throughput);
  offer("l1 throughput", counters.l1_throughput);
  for (const NamedShare& pipe : counters.pipes) offer(pipe.name, pipe.share);
  offer("issue", counters.issue_rate);
  offer("shared memory", counters.shared_throughput);
  // L1's throughput includes the pipe of shared memory, so that one is named when it is most of it.
  if (busiest.name == "l1 throughput" && counters.shared_throughput >= 0.8 * busiest.share)
    busiest.name = "shared memory";
  if (!measured(busiest.share) || busiest.share >= saturated) return busiest.name;
  return counters.duration_us < short_kernel_us ? "launch overhead" : "latency";
}

void add_sectors(std::vector<Sentence>& sentences, double sectors, double bytes, double weight, bool load) {
  const std::string what = load ? "load" : "store";
  const std::string remedy =
      std::string("make neighbouring threads ") + (load ? "read" : "write") + " neighbouring addresses";
  if (bytes > 0) {
    const double enough = std::max(1.0, std::ceil(bytes));  // 32 threads, 32 bytes a sector
    if (sectors < 1.25 * enough) return;
    sentences.push_back({weight * (1 - enough / sectors), fixed(sectors, 1) + " sectors per " + what + " request: " +
                                                              fixed(enough, 0) + " would do; " + remedy});
  } else if (sectors > 17) {  // more than 16 bytes a thread can need
    sentences.push_back(
        {weight * (1 - 4 / sectors), fixed(sectors, 1) + " sectors per " + what +
                                         " request: 4 would do for 4-byte values, 16 for 16-byte ones; " + remedy});
  } else if (sectors > 5) {  // a warp's values of 4, 8 or 16 bytes side by side are 4, 8 or 16 sectors
    const std::string width = sectors <= 8.5 ? "8" : "16";
    sentences.push_back({0.3 * weight * (1 - 4 / sectors),
                         fixed(sectors, 1) + " sectors of 32 bytes per " + what + " request: a warp needs " + width +
                             " for " + width + " bytes a thread and 4 for 4; with narrower values, " + remedy});
  }
}

void add_memory(std::vector<Sentence>& sentences, const KernelCounters& counters, const std::string& limiter) {
  if (limiter == "dram bandwidth") {
    sentences.push_back({0.2, "DRAM is at " + percent(counters.dram_throughput) +
                                  " of its peak: only moving fewer bytes helps (read each value once, fuse steps, "
                                  "narrower types)"});
  } else if (limiter == "l2 bandwidth") {
    sentences.push_back({0.4, "L2 is at " + percent(counters.l2_throughput) +
                                  " of its peak: keep what is used again in registers or shared memory"});
  } else if (limiter == "l1 throughput") {
    sentences.push_back({0.4, "L1 is at " + percent(counters.l1_throughput) +
                                  " of its peak: use wider loads (float4) and keep values in registers"});
  } else if (limiter == "shared memory") {
    sentences.push_back({0.4, "shared memory is busy " + percent(counters.shared_throughput) +
                                  " of the time: compute more from registers for each value that is read"});
  }
  if (counters.shared_bank_conflict_share > 0.1 && !(counters.shared_throughput < 0.05)) {
    const double pressure = measured(counters.shared_throughput) ? std::min(1.0, 2 * counters.shared_throughput) : 0.5;
    sentences.push_back(
        {counters.shared_bank_conflict_share * pressure,
         percent(counters.shared_bank_conflict_share) +
             " of the shared memory accesses are repeats because of bank conflicts: pad the rows by one "
             "element, or swizzle the index"});
  }
}

void add_compute(std::vector<Sentence>& sentences, const KernelCounters& counters, const std::string& limiter) {
  if (counters.warp_efficiency < 0.75) {
    sentences.push_back({(1 - counters.warp_efficiency) * std::max(0.3, std::min(1.0, counters.issue_rate)),
                         fixed(32 * counters.warp_efficiency, 1) +
                             " of 32 threads are active in an instruction: let whole warps take the same branch"});
  }
  const double busiest = counters.pipes.empty() ? 0 : counters.pipes.front().share;
  if (limiter == "fp32 pipe") {
    sentences.push_back({0.3, "the FP32 pipe is at " + percent(busiest) +
                                  " of its peak: use tensor cores where the task allows it, or fewer operations"});
  } else if (limiter == "int pipe") {
    sentences.push_back(
        {0.3, "the integer pipe is at " + percent(busiest) + " of its peak: move index arithmetic out of the loop"});
  } else if (limiter == "special function pipe") {
    sentences.push_back({0.3, "the special function pipe is at " + percent(busiest) +
                                  " of its peak: fewer exponentials, divisions and roots"});
  } else if (limiter == "fp64 pipe") {
    sentences.push_back({0.5, "the FP64 pipe is at " + percent(busiest) +
                                  " of its peak: is double needed? look for "
                                  "constants without an f"});
  } else if (limiter == "issue") {
    sentences.push_back({0.3, "the schedulers issue in " + percent(counters.issue_rate) +
                                  " of the cycles: fewer instructions help (wider loads, unrolling, cheaper indices)"});
  }
}

struct StallRemedy {
  std::string_view reason;
  std::string_view text;
};
constexpr std::array stall_remedies{
    StallRemedy{"long_scoreboard", "for global memory: load earlier, more at once (unroll, float4), or more warps"},
    StallRemedy{"short_scoreboard", "for shared memory or special functions: read it earlier, or less often"},
    StallRemedy{"barrier", "at __syncthreads: smaller blocks, fewer barriers, or more even work between warps"},
    StallRemedy{"mio_throttle", "for the queue of shared memory and special functions: fewer, wider accesses"},
    StallRemedy{"lg_throttle", "for the queue of global memory: fewer, wider accesses (float4)"},
    StallRemedy{"math_pipe_throttle", "for a busy arithmetic pipe: mix other instructions in, or use fewer"},
    StallRemedy{"wait", "for fixed instruction latencies: more independent work in each thread"},
    StallRemedy{"membar", "at memory fences: use fewer __threadfence"},
    StallRemedy{"branch_resolving", "for branches: unroll loops, use fewer jumps"},
    StallRemedy{"drain", "for their last stores: let each thread write less, coalesced"},
    StallRemedy{"gmma", "for matrix instructions: keep more of them in flight"},
};

void add_latency(std::vector<Sentence>& sentences, const KernelCounters& counters, const std::string& limiter) {
  if (limiter == "launch overhead") {
    sentences.push_back({0.9, "the kernel runs only " + fixed(counters.duration_us, 1) + " us: do more in one launch"});
    return;
  }
  const bool waits = limiter == "latency";
  for (const StallRemedy& remedy : stall_remedies) {
    const double share = share_of(counters.stalls, remedy.reason);
    if (share > 0.3)
      sentences.push_back({(waits ? 0.8 : 0.15) * share,
                           "warps wait " + percent(share) + " of their time " + std::string(remedy.text)});
  }
  if (waits && counters.achieved_occupancy < 0.5) {
    sentences.push_back(
        {0.7 * (1 - counters.achieved_occupancy),
         "only " + percent(counters.achieved_occupancy) +
             " of the possible warps are resident and no unit is busy: launch more blocks, or use fewer "
             "registers or less shared memory in each"});
  }
}

}  // namespace

CounterAdvice advise(const KernelCounters& counters, const AdviceContext& context) {
  CounterAdvice advice;
  advice.limiter = limiter_of(counters);
  std::vector<Sentence> sentences;
  // How much of the traffic loads and stores are is not counted; loads are the larger part of most kernels.
  if (measured(counters.sectors_per_request_load))
    add_sectors(sentences, counters.sectors_per_request_load, context.load_bytes, 0.9, true);
  if (measured(counters.sectors_per_request_store))
    add_sectors(sentences, counters.sectors_per_request_store, context.store_bytes, 0.6, false);
  add_memory(sentences, counters, advice.limiter);
  add_compute(sentences, counters, advice.limiter);
  add_latency(sentences, counters, advice.limiter);
  std::stable_sort(sentences.begin(), sentences.end(),
                   [](const Sentence& a, const Sentence& b) { return a.promise > b.promise; });
  for (Sentence& sentence : sentences)
    if (advice.sentences.size() < max_sentences) advice.sentences.push_back(std::move(sentence.text));
  return advice;
}

}  // namespace kw
