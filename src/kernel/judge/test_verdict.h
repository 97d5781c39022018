#pragma once
// Verdicts for tests: one that is right with known numbers, and random ones that obey what a judge promises.

#include "base/random.h"
#include "kernel/judge/verdict.h"

namespace kw {

inline Verdict right_verdict(double speedup = 1.5) {
  Verdict verdict;
  verdict.task = "softmax";
  verdict.kernel_file = "k.cu";
  verdict.status = VerdictStatus::correct;
  verdict.compiled = verdict.correct = true;
  verdict.profile = "NVIDIA H200";
  verdict.summary = "right in all 2 cases";
  for (int i = 0; i < 2; ++i) verdict.cases.push_back({{{"n", 7}}, false, 1, InputKind::ordinary, "y", 0, 1e-5, true});
  verdict.resources.push_back({"k", 32, 0, 0, 1024, "8x1x1", "256x1x1", 0.75, "warps"});
  verdict.time_us = 10;
  verdict.time_source = "modelled";
  verdict.time_interval_us = Interval{8, 12};
  verdict.speedup_naive = speedup;
  verdict.times.push_back({{{"n", 1024}}, 10, {8, 12}, 10 * speedup, "dram bandwidth", {}, {}, 0, 0});
  verdict.limiter = "dram bandwidth";
  verdict.terms = {{"dram bandwidth", 6}, {"issue", 2}};
  verdict.hot_lines = {{"k", 3, 0.5, "ld.global.f32 moves 4 sectors a warp"}};
  return verdict;
}

inline Verdict random_verdict(Random& random) {
  Verdict verdict = right_verdict(random.uniform(0.05, 300));
  const auto chance = [&](double p) { return random.uniform() < p; };
  if (chance(0.5)) {
    verdict.status = static_cast<VerdictStatus>(random.integer(1, 9));
    verdict.correct = false;
    verdict.compiled = chance(0.5);
    verdict.cases[0].ok = chance(0.5);
    verdict.cases[1].ok = false;
    if (chance(0.7)) verdict.time_us = verdict.speedup_naive = std::nullopt;
  }
  for (KernelUse& use : verdict.resources) {
    use.registers = static_cast<int>(random.integer(0, 255));
    use.spill_bytes = chance(0.2) ? 64 : 0;
    use.shared_bytes = random.integer(0, 300'000);
    use.occupancy = random.uniform();
  }
  if (chance(0.3)) verdict.terms.push_back({"shuffle pipe", 1});
  if (chance(0.2)) verdict.terms.clear();
  if (chance(0.2)) verdict.hot_lines[0].reason = "each load of a warp touches 32 sectors, 4 would do";
  if (chance(0.2)) {
    KernelCounters counters;
    counters.kernel = "k";
    counters.warp_efficiency = random.uniform(-0.5, 1.5);
    counters.dram_throughput = random.uniform(-0.5, 1.5);
    counters.sectors_per_request_load = random.uniform(1, 64);
    verdict.counters.push_back(counters);
  }
  for (std::int64_t i = random.integer(0, 6); i > 0; --i) {
    VerdictFinding hint;
    hint.kind = chance(0.5) ? "compile" : "bank-conflict";
    hint.severity = chance(0.5) ? Severity::warning : Severity::note;
    hint.message = "number " + std::to_string(i);
    verdict.hints.push_back(hint);
  }
  if (verdict.correct && chance(0.3)) {
    verdict.speedup_interval = Interval{*verdict.speedup_naive * 0.9, *verdict.speedup_naive * 1.1};
    verdict.time_source = "measured";
  }
  verdict.risk.score = random.uniform();
  if (chance(0.1)) verdict.flags.push_back("order_dependent");
  return verdict;
}

}  // namespace kw
