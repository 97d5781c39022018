#include "kernel/emulate/access_shape.h"

namespace kw {
namespace {

// Written for the vectoriser: no branches in the loop, Word is the width of the address register.
template <class Word>
__attribute__((always_inline)) inline void find_shape_in(const Word* lanes, Word add, LaneMask active,
                                                         const AccessRange& range, AccessShape& shape) {
  const int first = __builtin_ctz(active);
  const auto bytes = static_cast<Word>(range.bytes);
  const auto base = static_cast<Word>(range.base);
  const auto limit = static_cast<Word>(range.limit);
  const auto start = static_cast<Word>(lanes[first] + add - base);
  const auto lane_zero = static_cast<Word>(start - static_cast<Word>(first) * bytes);
  Word outside = 0, low = 0, not_run = 0, not_uniform = 0;
  if (active == all_lanes) {
    for (int lane = 0; lane < warp_lanes; ++lane) {
      auto address = static_cast<Word>(lanes[lane] + add);
      auto offset = static_cast<Word>(address - base);
      outside |= offset > limit ? 1 : 0;
      low |= address;
      not_uniform |= offset ^ start;
      not_run |= offset ^ static_cast<Word>(lane_zero + static_cast<Word>(lane) * bytes);
      shape.offset[lane] = static_cast<std::uint32_t>(offset);
    }
  } else {
    for (int lane = 0; lane < warp_lanes; ++lane) {
      auto taken = static_cast<Word>(Word{0} - ((active >> lane) & 1));
      auto address = static_cast<Word>(lanes[lane] + add);
      auto offset = static_cast<Word>(address - base);
      outside |= (offset > limit ? 1 : 0) & taken;
      low |= address & taken;
      not_uniform |= (offset ^ start) & taken;
      not_run |= (offset ^ static_cast<Word>(lane_zero + static_cast<Word>(lane) * bytes)) & taken;
      shape.offset[lane] = static_cast<std::uint32_t>(offset);
    }
  }
  shape.inside = outside == 0;
  shape.aligned = (low & (bytes - 1)) == 0;
  shape.run = not_run == 0;
  shape.uniform = not_uniform == 0;
  shape.heads = shape.uniform && active == all_lanes ? 1 : all_lanes;
  if (!shape.run && !shape.uniform && active == all_lanes) {
    LaneMask heads = 1;
    for (int lane = 1; lane < warp_lanes; ++lane)
      heads |= shape.offset[lane] != shape.offset[lane - 1] ? LaneMask{1} << lane : 0;
    shape.heads = heads;
  }
}

__attribute__((always_inline)) inline void find_shape(const LaneAddresses& addresses, LaneMask active,
                                                      const AccessRange& range, AccessShape& shape) {
  if (addresses.wide) {
    find_shape_in(reinterpret_cast<const std::uint64_t*>(addresses.lanes), addresses.add, active, range, shape);
  } else {
    find_shape_in(reinterpret_cast<const std::uint32_t*>(addresses.lanes), static_cast<std::uint32_t>(addresses.add),
                  active, range, shape);
  }
}

void shape_portable(const LaneAddresses& addresses, LaneMask active, const AccessRange& range, AccessShape& shape) {
  find_shape(addresses, active, range, shape);
}
#ifdef __x86_64__
__attribute__((target("avx2"))) void shape_avx2(const LaneAddresses& addresses, LaneMask active,
                                                const AccessRange& range, AccessShape& shape) {
  find_shape(addresses, active, range, shape);
}
__attribute__((target("avx512f,avx512vl,avx512dq,avx512bw"))) void shape_avx512(const LaneAddresses& addresses,
                                                                                LaneMask active,
                                                                                const AccessRange& range,
                                                                                AccessShape& shape) {
  find_shape(addresses, active, range, shape);
}
#endif

}  // namespace

ShapeFunction shape_function(VectorUnit unit) {
#ifdef __x86_64__
  if (unit == VectorUnit::avx512) return shape_avx512;
  if (unit == VectorUnit::avx2) return shape_avx2;
#endif
  (void)unit;
  return shape_portable;
}

}  // namespace kw
