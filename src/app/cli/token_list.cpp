#include "app/cli/token_list.h"

#include <charconv>

namespace kw::cli {

Result<std::vector<std::vector<std::int32_t>>> parse_token_list(const std::string& text) {
  std::vector<std::vector<std::int32_t>> sequences(1);
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    std::int32_t token = 0;
    const auto [next, problem] = std::from_chars(at, end, token);
    if (problem != std::errc() || token < 0) {
      return Error{
          "--tokens is not a list of token ids", "as in --tokens 1,2,3; a semicolon begins another sequence", {}};
    }
    sequences.back().push_back(token);
    if (next == end) return sequences;
    if (*next != ',' && *next != ';') return Error{"--tokens has a '" + std::string(1, *next) + "' in it", "", {}};
    if (*next == ';') sequences.emplace_back();
    at = next + 1;
  }
}

}  // namespace kw::cli
