#pragma once
// How much a kernel file looks like an attempt to cheat or to break something, from 0 (nothing unusual) to 1. The score
// is the sum of the points of the reasons, at most 1, so a person can check it. It ranks files for a closer look; it
// proves nothing, and a verdict must not depend on it alone.
//
// | reason                   | points | why                                                                    |
// | ------------------------ | ------ | ---------------------------------------------------------------------- |
// | forbidden construct      | 0.50   | each rule with an error, once; see rules.h                             |
// | persistent-state         | 0.25   | results can be kept from one launch to the next                        |
// | host-state               | 0.25   | the same in the launcher                                               |
// | asm-placement            | 0.15   | results can depend on where a block runs                               |
// | asm-cache                | 0.15   | loads with a cache policy                                              |
// | other warnings           | 0.05   | each rule, once; notes count nothing                                   |
// | constant table           | 0.20   | more than 1,000 numbers in one brace list can be precomputed answers    |
// | hard-coded size          | 0.10   | a size compared with == to a number of 16 or more                      |
// | unlaunched kernel        | 0.10   | a __global__ function that nothing else mentions can be a decoy         |
// | reduced precision        | 0.10   | float converted to half, bfloat16 or TF32 in a file with float pointers |
// | spin loop                | 0.10   | while (true) or for (;;) without break or return                       |
// | inline PTX               | 0.05   | not covered by the compiler's checks                                   |
// | names made by macros     | 0.05   | ## or # in a macro that is used                                        |

#include <string>
#include <string_view>
#include <vector>

#include "kernel/source/rules.h"

namespace kw {

struct RiskReason {
  std::string what;
  double points = 0;
  Position where;
};

struct Risk {
  double score = 0;                 // 0 to 1
  std::vector<RiskReason> reasons;  // in order of the table, then of position
};

Risk assess_risk(std::string_view text, std::string_view file, const Policy& policy = {});

}  // namespace kw
