#pragma once
// Who proposes how many kernels of the next round. Operators that have found something lately get more of it; each that
// can propose keeps a small part, because what helps changes during a search: first kernels, then strategies, then
// constants.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "agents/search/candidate.h"

namespace kw {

inline std::size_t index_of(SearchOperator from) { return static_cast<std::size_t>(from); }

struct OperatorStanding {
  bool enabled = false;
  std::int64_t answers = 0;   // proposals that it made, new or not, kernels or not
  std::int64_t fresh = 0;     // of them, kernels that are new, text and, as far as anybody has looked, code
  std::int64_t verdicts = 0;  // of new kernels
  std::int64_t right = 0;
  std::int64_t leads = 0;  // the fastest of a niche at that time
  std::int64_t bests = 0;  // the best kernel at that time

  // A proposal's worth, with a prior that lets a new operator try.
  double credit() const;
  // Proposals for one new kernel; at least 1.
  double answers_a_kernel() const;
};
using OperatorStandings = std::array<OperatorStanding, search_operators>;

// Of `count` verdicts, by operator; the sum is `count`, unless no operator is of use. `any_right`: there are parents
// whose constants and texts may be varied; `any`: there are kernels for the Optimizer.
using RoundShares = std::array<std::int64_t, search_operators>;
RoundShares round_shares(const OperatorStandings& standings, std::int64_t count, bool any_right, bool any);

}  // namespace kw
