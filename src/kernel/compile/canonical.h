#pragma once
// The form in which source goes to the compiler: one token a line, no comments. Two files that differ only in layout
// and comments become the same text, so one cache entry serves both, and yet every position that the compiler reports
// is exact for each: a canonical line is a token, and the map says where the user wrote it.
//
// __LINE__ therefore counts tokens, and #line is dropped. In front stand includes of what nvcc would have declared by
// itself and the source uses (implicit_names.h).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kw {

struct UserPosition {
  std::uint32_t line = 0;  // from 1; 0: not in the user's file
  std::uint32_t column = 0;
  friend bool operator==(const UserPosition&, const UserPosition&) = default;
};

struct LineMap {
  std::vector<UserPosition> positions;  // of canonical line 1, 2, ...

  // {0, 0} for a line that is not there.
  UserPosition at(std::uint64_t canonical_line) const {
    return canonical_line >= 1 && canonical_line <= positions.size() ? positions[canonical_line - 1] : UserPosition{};
  }
  friend bool operator==(const LineMap&, const LineMap&) = default;
};

struct CanonicalSource {
  std::string text;
  LineMap lines;
};

// Fails, with the position, on what no compiler should see: NUL bytes, invalid UTF-8 outside comments, an unterminated
// comment or string.
Result<CanonicalSource> canonicalise(std::string_view source, std::string_view file_name);

}  // namespace kw
