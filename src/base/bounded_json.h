#pragma once
// JSON from files that nobody vouches for: depth and number of values are bounded, a key that comes twice is refused.

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kw {

struct JsonBounds {
  int max_depth = 16;
  // A value takes at most this share of memory: one for each four bytes of text, so that a text of "0,0,0," cannot
  // grow by more than its own size class.
  std::size_t min_bytes_per_value = 4;
  std::size_t max_values = SIZE_MAX;    // in all
  std::size_t max_members = SIZE_MAX;   // of one object
  std::size_t max_elements = SIZE_MAX;  // of one list
};

// The text must be one JSON object.
Result<nlohmann::json> parse_bounded_json(std::string_view text, const JsonBounds& bounds = {});
// Members stay in the order of the text. Such an object is searched from its beginning: bound its members where a
// stranger wrote it.
Result<nlohmann::ordered_json> parse_bounded_ordered_json(std::string_view text, const JsonBounds& bounds = {});

// Members of an object that was parsed so. The error names the key. The first form also refuses a missing key.
Result<std::int64_t> json_integer(const nlohmann::json& object, const std::string& key, std::int64_t smallest,
                                  std::int64_t largest);
Result<std::int64_t> json_integer_or(const nlohmann::json& object, const std::string& key, std::int64_t smallest,
                                     std::int64_t largest, std::int64_t if_missing);
Result<double> json_number_or(const nlohmann::json& object, const std::string& key, double if_missing);
Result<bool> json_bool_or(const nlohmann::json& object, const std::string& key, bool if_missing);
Result<std::string> json_string_or(const nlohmann::json& object, const std::string& key, const std::string& if_missing);

}  // namespace kw
