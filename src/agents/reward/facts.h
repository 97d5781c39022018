#pragma once
// What a reward depends on, read from a verdict: numbers from 0 to 1 where there is a scale, and nothing where the
// verdict does not know (the emulator counts no warp efficiency). The formulas are in shape.h and reward.h.

#include <optional>
#include <string>
#include <vector>

#include "kernel/judge/baseline.h"
#include "kernel/judge/verdict.h"

namespace kw {

struct FactLimits {
  int registers_free = 128;  // a thread may use so many without being called greedy: half the warps still fit
  int registers_most = 255;  // what the hardware can give
  std::int64_t shared_free_bytes = 48 << 10;   // what a block gets without asking for more
  std::int64_t shared_most_bytes = 227 << 10;  // what it can ask for (sm_90)
  double sectors_wasted = 1.5;                 // sectors moved / fewest possible, above which access is not coalesced
  // Flags that mean "do not believe this": the reward is zero whatever else the verdict says.
  std::vector<std::string> exploit_flags{"keeps_state",    "skips_work",        "changes_its_mind",
                                         "below_roofline", "reduced_precision", "constant_task"};
  // Flags that mean "a part of it was not checked": as if the verdict were `unsupported`, whatever it says.
  std::vector<std::string> unchecked_flags{"unchecked_path"};
};

struct RewardFacts {
  VerdictStatus status = VerdictStatus::internal_error;  // `unsupported` where a flag says that not all was checked
  bool compiled = false;
  bool correct = false;
  bool timeout = false;
  std::string exploit;   // the first exploit flag; empty: none
  double pass_rate = 0;  // of the cases; 1 when correct, 0 when not all could be checked
  int cases = 0;
  int cases_ok = 0;

  Baseline baseline = Baseline::naive;
  std::optional<double> speedup;  // over the baseline; only of a correct kernel that has a time
  std::string speedup_source;     // "measured", "modelled", "measured, no difference shown"
  std::optional<double> time_us;

  double register_pressure = 0;  // 0: at most registers_free; 1: all there are, or spills
  double shared_over = 0;        // 0: at most shared_free_bytes; 1: shared_most_bytes
  int registers = 0;             // of the kernel with the most
  int spill_bytes = 0;
  std::int64_t shared_bytes = 0;

  std::optional<double> occupancy;         // achieved where it was counted, else the possible one
  std::optional<double> warp_efficiency;   // counted only
  std::optional<double> bandwidth;         // share of what the DRAM can sustain, counted or modelled; only with a time
  std::optional<bool> uses_shuffle;        // shuffle instructions were executed
  std::optional<bool> coalesced;           // no global access wastes sectors
  std::vector<std::string> warnings;       // kinds of the warnings, each once
  std::vector<std::string> code_warnings;  // those of the compiler: kind "compile"; each message once
  double risk = 0;
};

// Does not fail: what a verdict does not say is unknown. Every number is finite and in its range, whatever the verdict
// holds. `other`: of the baseline's kernel, see speedup_over().
RewardFacts facts_of(const Verdict& verdict, const FactLimits& limits = {}, Baseline baseline = Baseline::naive,
                     const Verdict* other = nullptr);

}  // namespace kw
