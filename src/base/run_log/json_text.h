#pragma once
// JSON that was stored by a run and may have been changed since: depth is bounded, because writing deep values
// recurses.

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace kw {

inline std::optional<nlohmann::ordered_json> parse_json_text(std::string_view text, int depth_limit = 64) {
  using Json = nlohmann::ordered_json;
  bool too_deep = false;
  const auto watch_depth = [&](int depth, Json::parse_event_t, Json&) {
    too_deep = too_deep || depth > depth_limit;
    return depth <= depth_limit;
  };
  Json json = Json::parse(text, watch_depth, false);
  if (json.is_discarded() || too_deep) return {};
  return json;
}

// Texts that are not UTF-8 are shown with replacement characters instead of failing.
inline std::string json_text(const nlohmann::ordered_json& json, int indent = -1) {
  return json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace kw
