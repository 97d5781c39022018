#pragma once
// An episode as JSON: what `generate --json` and `optimize --json` print.

#include <nlohmann/json.hpp>

#include <cstdint>

#include "agents/episode/episode.h"

namespace kw {

enum class JsonDetail : std::uint8_t {
  full,          // with token ids, log-probabilities and whole verdicts
  reproducible,  // the same without times of this machine and what was cached: equal for equal seeds
};

nlohmann::ordered_json to_json(const Episode& episode, JsonDetail detail = JsonDetail::full);

}  // namespace kw
