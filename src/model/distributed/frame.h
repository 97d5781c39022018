#pragma once
// What travels between ranks: a header of fixed size, then as many bytes as it says. Numbers are in native order: all
// ranks are of one kind of machine.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace kw {

enum class FrameKind : std::uint32_t {
  data = 1,
  failed,  // somebody has failed and the run is over; the bytes say who and why
  left,    // the sender has ended as it should
};

enum class Collective : std::uint32_t { meet, barrier, broadcast, gather, all_gather, all_reduce, reduce_scatter };
inline std::string to_string(Collective collective) {
  constexpr const char* names[] = {"meet",       "barrier",    "broadcast",     "gather",
                                   "all_gather", "all_reduce", "reduce_scatter"};
  const auto at = static_cast<std::size_t>(collective);
  return at < std::size(names) ? names[at] : "something unknown";
}

inline constexpr std::uint32_t frame_magic = 0x3152574b;  // "KWR1"
inline constexpr std::uint64_t longest_failure = 4096;    // bytes of a failed frame

struct FrameHeader {
  std::uint32_t magic = frame_magic;
  FrameKind kind = FrameKind::data;
  std::uint32_t sequence = 0;  // counts collectives: ranks that are out of step notice
  Collective collective = Collective::meet;
  std::uint64_t bytes = 0;
};
static_assert(sizeof(FrameHeader) == 24);

}  // namespace kw
