#pragma once
// Shapes of models by name, and values to start training from.

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/arithmetic/thread_team.h"
#include "model/decoder/parameters.h"

namespace kw {

// Names, smallest model first.
std::vector<std::string_view> preset_names();

// The models of our own ("tiny-1m" to "small-60m") have the vocabulary that is given; the published shapes
// ("smollm2-135m", "qwen2.5-coder-0.5b" to "-7b") have their own and ignore it.
Result<ModelDescription> preset_description(std::string_view name, std::int64_t vocabulary);

// Normal numbers of deviation 0.02, those of o and down divided by sqrt(2 layers) because as many of them add up in the
// residual stream (GPT-2's rule); norms are one and biases zero. Depends on the seed alone.
Parameters initial_parameters(ThreadTeam& team, const ModelDescription& description, std::uint64_t seed);

}  // namespace kw
