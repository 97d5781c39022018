#pragma once
// JSON that a run stores, and what may have been changed in it since: depth is bounded, because writing deep values
// recurses.

#include <nlohmann/json.hpp>

#include <string>

#include "base/bounded_json.h"

namespace kw {

// A list of small numbers has two bytes for each, so their share of the text says nothing.
inline constexpr JsonBounds stored_json{.max_depth = 64, .min_bytes_per_value = 1};
inline constexpr JsonBounds stored_json_line{.max_depth = 4, .min_bytes_per_value = 1};

// Texts that are not UTF-8 are shown with replacement characters instead of failing.
inline std::string json_text(const nlohmann::ordered_json& json, int indent = -1) {
  return json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace kw
