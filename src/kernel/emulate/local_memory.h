#pragma once
// Local memory of a warp's threads, interleaved by 4-byte words as on the hardware.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernel/emulate/warp.h"

namespace kw {

struct LocalWord {
  std::byte bytes[4];
  std::byte defined[4];
};

// Of byte `address` of lane `lane`; the word's other bytes follow it up to the next multiple of four.
inline std::size_t local_index(std::uint64_t address, int lane) {
  return static_cast<std::size_t>((address / 4 * warp_lanes + static_cast<std::uint64_t>(lane)) * 4 + address % 4);
}

inline LocalWord local_word(const Warp& warp, std::uint32_t address, int lane) {
  LocalWord word;
  std::size_t index = local_index(address & ~3u, lane);
  std::memcpy(word.bytes, warp.local_data.data() + index, 4);
  std::memcpy(word.defined, warp.local_defined.data() + index, 4);
  return word;
}

inline void set_local_word(Warp& warp, std::uint32_t address, int lane, const LocalWord& word) {
  std::size_t index = local_index(address & ~3u, lane);
  std::memcpy(warp.local_data.data() + index, word.bytes, 4);
  std::memcpy(warp.local_defined.data() + index, word.defined, 4);
}

// A function begins: nothing in its part of the stack has a value (`mark` 0).
inline void forget_local(Warp& warp, std::uint32_t base, std::uint32_t bytes, LaneMask lanes, int mark) {
  if (bytes == 0) return;
  if (lanes == all_lanes) {
    std::memset(warp.local_defined.data() + local_index(base, 0), mark, (std::size_t{bytes} + 3) / 4 * 4 * warp_lanes);
    return;
  }
  for (std::uint32_t offset = 0; offset < bytes; offset += 4)
    for (LaneMask left = lanes; left != 0; left &= left - 1)
      std::memset(warp.local_defined.data() + local_index(base + offset, __builtin_ctz(left)), mark, 4);
}

}  // namespace kw
