#include "kernel/emulate/race_shadow.h"

#include <cstddef>

namespace kw {

void RaceGranules::reset(std::uint64_t bytes) {
  std::size_t granules = static_cast<std::size_t>((bytes + (1u << shift) - 1) >> shift) + 1;
  writers = RaceEntries(granules);
  readers = RaceEntries(granules);
}

void RaceGranules::refine(int wanted_shift) {
  if (wanted_shift >= shift) return;
  int factor_shift = shift - wanted_shift;
  for (RaceEntries* entries : {&writers, &readers}) {
    RaceEntries finer(entries->size() << factor_shift);
    for (std::size_t i = 0; i < finer.size(); ++i) {
      const RaceEntry entry = (*entries)[i >> factor_shift];
      if (entry != 0) finer[i] = entry;
    }
    *entries = std::move(finer);
  }
  shift = wanted_shift;
}

namespace {

// Branch-free, for the vectoriser: `per_lane` is a constant in each instance.
template <int per_lane>
__attribute__((always_inline)) inline bool read_run(RaceEntry* writers, RaceEntry* readers, int lanes, RaceEntry self,
                                                    const RaceMoment& moment) {
  const RaceMoment at = moment;
  int count = lanes * per_lane;
  int conflict = 0;
  for (int k = 0; k < count; ++k) {
    RaceEntry entry = writers[k];
    RaceEntry difference = (entry ^ (self + k / per_lane)) & race_thread_bits;
    conflict |= (entry >= at.barrier) & (difference > race_lane_bits);
    conflict |= (entry >= at.warp_sync) & (difference != 0);
    conflict |= (entry >= at.launch_start) & (entry < at.block_start);
  }
  if (conflict != 0) return true;
  for (int k = 0; k < count; ++k) readers[k] = race_reader_after(readers[k], self + k / per_lane, at);
  return false;
}

template <int per_lane>
__attribute__((always_inline)) inline bool write_run(RaceEntry* writers, const RaceEntry* readers, int lanes,
                                                     RaceEntry self, const RaceMoment& moment) {
  const RaceMoment at = moment;
  int count = lanes * per_lane;
  int conflict = 0;
  int between_blocks = at.launch_start < at.block_start ? race_flag : 0;
  for (int k = 0; k < count; ++k) {
    RaceEntry lane = self + k / per_lane;
    RaceEntry writer = writers[k];
    RaceEntry reader = readers[k];
    RaceEntry difference = (writer ^ lane) & race_thread_bits;
    conflict |= (writer >= at.barrier) & (difference > race_lane_bits);
    conflict |= (writer >= at.warp_sync) & (difference != 0);
    conflict |= (writer >= at.launch_start) & (writer < at.block_start);
    difference = (reader ^ lane) & race_thread_bits;
    conflict |= (reader >= at.barrier) & (difference > race_lane_bits);
    conflict |= (reader >= at.warp_sync) & (difference != 0);
    conflict |= (reader >= at.launch_start) & ((reader < at.block_start) | ((reader & between_blocks) != 0));
  }
  if (conflict != 0) return true;
  for (int k = 0; k < count; ++k) writers[k] = at.now | (self + k / per_lane);
  return false;
}

// One body for the three vector units; everything is inlined into each, so each is compiled for its own unit.
#define KW_RACE_RUNS(unit, attribute)                                                                     \
  attribute bool read_##unit(RaceEntry* writers, RaceEntry* readers, int lanes, int per_lane, int first,  \
                             const RaceMoment& at) {                                                      \
    RaceEntry self = at.warp | first;                                                                     \
    switch (per_lane) {                                                                                   \
      case 1:                                                                                             \
        return read_run<1>(writers, readers, lanes, self, at);                                            \
      case 2:                                                                                             \
        return read_run<2>(writers, readers, lanes, self, at);                                            \
      case 4:                                                                                             \
        return read_run<4>(writers, readers, lanes, self, at);                                            \
      case 8:                                                                                             \
        return read_run<8>(writers, readers, lanes, self, at);                                            \
      default:                                                                                            \
        return read_run<16>(writers, readers, lanes, self, at);                                           \
    }                                                                                                     \
  }                                                                                                       \
  attribute bool write_##unit(RaceEntry* writers, RaceEntry* readers, int lanes, int per_lane, int first, \
                              const RaceMoment& at) {                                                     \
    RaceEntry self = at.warp | first;                                                                     \
    switch (per_lane) {                                                                                   \
      case 1:                                                                                             \
        return write_run<1>(writers, readers, lanes, self, at);                                           \
      case 2:                                                                                             \
        return write_run<2>(writers, readers, lanes, self, at);                                           \
      case 4:                                                                                             \
        return write_run<4>(writers, readers, lanes, self, at);                                           \
      case 8:                                                                                             \
        return write_run<8>(writers, readers, lanes, self, at);                                           \
      default:                                                                                            \
        return write_run<16>(writers, readers, lanes, self, at);                                          \
    }                                                                                                     \
  }
KW_RACE_RUNS(portable, )
#ifdef __x86_64__
KW_RACE_RUNS(avx2, __attribute__((target("avx2"))))
KW_RACE_RUNS(avx512, __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw"))))
#endif
#undef KW_RACE_RUNS

}  // namespace

RaceRun race_read_function(VectorUnit unit) {
#ifdef __x86_64__
  if (unit == VectorUnit::avx512) return read_avx512;
  if (unit == VectorUnit::avx2) return read_avx2;
#endif
  (void)unit;
  return read_portable;
}

RaceRun race_write_function(VectorUnit unit) {
#ifdef __x86_64__
  if (unit == VectorUnit::avx512) return write_avx512;
  if (unit == VectorUnit::avx2) return write_avx2;
#endif
  (void)unit;
  return write_portable;
}

}  // namespace kw
