#pragma once
// All logits of one sequence, for comparing with other programs: the trainer itself keeps only scores.

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "model/decoder/adapter.h"
#include "model/decoder/base_weights.h"

namespace kw {

// (tokens, vocabulary). `adapter`: index of `adapters`, -1 the bare base.
Result<std::vector<float>> sequence_logits(ThreadTeam& team, BaseWeights& base, const std::vector<Adapter>& adapters,
                                           std::span<const std::int32_t> tokens, std::int32_t adapter = -1);

}  // namespace kw
