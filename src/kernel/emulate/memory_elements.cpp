#include "kernel/emulate/memory_elements.h"

#include <algorithm>
#include <cstring>

#include "kernel/emulate/lane_bits.h"

namespace kw {
namespace {

template <class Memory, class Register, class Cast>
void load_part(Register* to, const std::byte* from, const AccessShape& shape, LaneMask active, bool single) {
  auto value_at = [&](std::uint32_t offset) {
    Memory value;
    std::memcpy(&value, from + offset, sizeof value);
    return static_cast<Register>(static_cast<Cast>(value));
  };
  if (shape.uniform) {
    Register value = value_at(shape.offset[__builtin_ctz(active)]);
    if (active == all_lanes)
      std::fill(to, to + warp_lanes, value);
    else
      for_lanes(active, [&](int lane) { to[lane] = value; });
  } else if (shape.run && single && active == all_lanes) {
    const std::byte* start = from + shape.offset[0];
    if (sizeof(Memory) == sizeof(Register)) {
      std::memcpy(to, start, sizeof(Register) * warp_lanes);
    } else {
      for (int lane = 0; lane < warp_lanes; ++lane) {
        Memory value;
        std::memcpy(&value, start + static_cast<std::size_t>(lane) * sizeof(Memory), sizeof value);
        to[lane] = static_cast<Register>(static_cast<Cast>(value));
      }
    }
  } else if (active == all_lanes) {
    for (int lane = 0; lane < warp_lanes; ++lane) to[lane] = value_at(shape.offset[lane]);
  } else {
    for_lanes(active, [&](int lane) { to[lane] = value_at(shape.offset[lane]); });
  }
}

}  // namespace

void load_element(Warp& warp, const MemoryAccess& access, int k, const std::byte* data, const AccessShape& shape,
                  LaneMask active) {
  using u8 = std::uint8_t;
  using u16 = std::uint16_t;
  using u32 = std::uint32_t;
  using u64 = std::uint64_t;
  const std::byte* from = data + static_cast<std::size_t>(k) * access.element_bytes;
  bool single = access.elements == 1;
  u32* narrow = warp.lanes<u32>(access.parts[k]);
  u64* wide = warp.lanes<u64>(access.parts[k]);
  int to = access.register_bytes[k];
  switch (access.element_bytes) {
    case 1:
      if (!access.sign_extend) {
        if (to == 8)
          load_part<u8, u64, u64>(wide, from, shape, active, single);
        else
          load_part<u8, u32, u32>(narrow, from, shape, active, single);
      } else if (to == 8) {
        load_part<std::int8_t, u64, std::int64_t>(wide, from, shape, active, single);
      } else if (to == 4) {
        load_part<std::int8_t, u32, std::int32_t>(narrow, from, shape, active, single);
      } else {
        load_part<std::int8_t, u32, u16>(narrow, from, shape, active, single);
      }
      return;
    case 2:
      if (!access.sign_extend || to == 2) {
        if (to == 8)
          load_part<u16, u64, u64>(wide, from, shape, active, single);
        else
          load_part<u16, u32, u32>(narrow, from, shape, active, single);
      } else if (to == 8) {
        load_part<std::int16_t, u64, std::int64_t>(wide, from, shape, active, single);
      } else {
        load_part<std::int16_t, u32, std::int32_t>(narrow, from, shape, active, single);
      }
      return;
    case 4:
      if (to != 8)
        load_part<u32, u32, u32>(narrow, from, shape, active, single);
      else if (access.sign_extend)
        load_part<std::int32_t, u64, std::int64_t>(wide, from, shape, active, single);
      else
        load_part<u32, u64, u64>(wide, from, shape, active, single);
      return;
    default:
      load_part<u64, u64, u64>(wide, from, shape, active, single);
      return;
  }
}

namespace {

template <class Memory, class Register>
void store_part(const Register* from, std::byte* to, const AccessShape& shape, LaneMask active, bool single) {
  if (shape.run && single && active == all_lanes) {
    std::byte* start = to + shape.offset[0];
    if (sizeof(Memory) == sizeof(Register)) {
      std::memcpy(start, from, sizeof(Register) * warp_lanes);
    } else {
      Memory narrow[warp_lanes];
      for (int lane = 0; lane < warp_lanes; ++lane) narrow[lane] = static_cast<Memory>(from[lane]);
      std::memcpy(start, narrow, sizeof narrow);
    }
    return;
  }
  for_lanes(active, [&](int lane) {
    auto value = static_cast<Memory>(from[lane]);
    std::memcpy(to + shape.offset[lane], &value, sizeof value);
  });
}

// An element is at most as wide as its register.
template <class Register>
inline void store_width(const Register* from, int element_bytes, std::byte* to, const AccessShape& shape,
                        LaneMask active, bool single) {
  if (element_bytes == sizeof(Register)) return store_part<Register>(from, to, shape, active, single);
  switch (element_bytes) {
    case 1:
      return store_part<std::uint8_t>(from, to, shape, active, single);
    case 2:
      return store_part<std::uint16_t>(from, to, shape, active, single);
    default:
      return store_part<std::uint32_t>(from, to, shape, active, single);
  }
}

}  // namespace

void store_element(Warp& warp, const MemoryAccess& access, int k, std::byte* data, const AccessShape& shape,
                   LaneMask active) {
  std::byte* to = data + static_cast<std::size_t>(k) * access.element_bytes;
  bool single = access.elements == 1;
  if (access.register_bytes[k] == 8)
    store_width(warp.lanes<std::uint64_t>(access.parts[k]), access.element_bytes, to, shape, active, single);
  else
    store_width(warp.lanes<std::uint32_t>(access.parts[k]), access.element_bytes, to, shape, active, single);
}

}  // namespace kw
