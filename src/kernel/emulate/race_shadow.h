#pragma once
// Race detection in constant space per memory word, in the spirit of HiRace (arXiv 2401.04701). Each granule of memory
// remembers its last writer and a summary of its readers as one 32-bit entry each:
//
//   bits 31..12  time: a counter of the worker that ticks whenever something is ordered (barriers, warp syncs, the
//   start of a block) bit  11      writer: it was an atomic (or volatile) access; reader: threads of an earlier block
//   have read it too bits 10..6   warp in the block bit  5       several lanes (then bits 4..0 mean nothing) bits  4..0
//   lane
//
// Because time only grows, nothing has to be cleared between blocks or launches: an entry older than the last barrier
// is ordered before us, one older than the block's start but not than the launch's belongs to another block and is
// never ordered.

#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>
#include <vector>

#include "kernel/emulate/lane_operations.h"

namespace kw {

using RaceEntry = std::int32_t;  // 19 bits of time, so that a signed comparison (which vector units have) is right
inline constexpr int race_time_shift = 12;
inline constexpr RaceEntry race_flag = 1 << 11;
inline constexpr RaceEntry race_many = 1 << 5;
inline constexpr RaceEntry race_thread_bits = 0x7ff;
inline constexpr RaceEntry race_lane_bits = 0x3f;
inline constexpr std::int32_t race_time_limit = (1 << 19) - 4;

// Memory that is zero and costs nothing until it is touched: each worker has entries for all of an allocation and
// touches those of its own blocks.
template <class T>
struct ZeroedAllocator {
  using value_type = T;
  ZeroedAllocator() = default;
  template <class Other>
  ZeroedAllocator(const ZeroedAllocator<Other>&) {}
  T* allocate(std::size_t count) {
    void* memory = std::calloc(count, sizeof(T));
    if (memory == nullptr) throw std::bad_alloc();
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t) { std::free(memory); }
  template <class U>
  void construct(U*) {}  // it is zero already
  template <class U, class... Arguments>
  void construct(U* place, Arguments&&... arguments) {
    ::new (static_cast<void*>(place)) U(std::forward<Arguments>(arguments)...);
  }
  friend bool operator==(const ZeroedAllocator&, const ZeroedAllocator&) { return true; }
};
using RaceEntries = std::vector<RaceEntry, ZeroedAllocator<RaceEntry>>;

// The last accesses to one allocation or to a block's shared memory. Granules are words until a narrower access is
// seen.
struct RaceGranules {
  int shift = 2;  // log2 of a granule's bytes
  RaceEntries writers;
  RaceEntries readers;

  bool empty() const { return writers.empty(); }
  std::uint64_t held_bytes() const { return (writers.capacity() + readers.capacity()) * sizeof(RaceEntry); }
  void reset(std::uint64_t bytes);
  void refine(int wanted_shift);
};

// The thresholds that an access is compared with, all as entries (time << race_time_shift).
struct RaceMoment {
  RaceEntry now = 0;
  RaceEntry warp_sync = 0;  // the last time the lanes of this warp were ordered
  RaceEntry barrier = 0;    // the last time the warps of this block were ordered
  RaceEntry block_start = 0;
  RaceEntry launch_start = 0;  // == block_start when this block has synchronised with the others (or in shared memory)
  RaceEntry warp = 0;          // this warp's number in its place
};

// Does an earlier access conflict with one of thread `self` (warp | lane)?
__attribute__((always_inline)) inline bool race_conflict(RaceEntry entry, RaceEntry self, const RaceMoment& moment) {
  RaceEntry difference = (entry ^ self) & race_thread_bits;
  bool within_block =
      (entry >= moment.barrier && difference > race_lane_bits) || (entry >= moment.warp_sync && difference != 0);
  bool other_block = entry >= moment.launch_start && entry < moment.block_start;
  return within_block || other_block;
}
inline bool race_reader_conflict(RaceEntry entry, RaceEntry self, const RaceMoment& moment) {
  bool earlier_block_too =
      moment.launch_start < moment.block_start && entry >= moment.block_start && (entry & race_flag) != 0;
  return race_conflict(entry, self, moment) || earlier_block_too;
}

// The reader summary after a read by `self`.
__attribute__((always_inline)) inline RaceEntry race_reader_after(RaceEntry entry, RaceEntry self,
                                                                  const RaceMoment& moment) {
  RaceEntry difference = (entry ^ self) & race_thread_bits;
  RaceEntry thread = self;
  if (entry >= moment.warp_sync && difference != 0) thread = (self & ~race_lane_bits) | race_many;
  // Another warp reads too: keep its number, so that a write of either is seen as a conflict.
  if (entry >= moment.barrier && difference > race_lane_bits)
    thread = (entry & race_thread_bits & ~race_lane_bits) | race_many;
  RaceEntry flag = entry >= moment.block_start ? (entry & race_flag) : entry >= moment.launch_start ? race_flag : 0;
  return moment.now | thread | flag;
}

// A warp's access to memory that lies side by side: lane `first_lane + k` has the granules [k * per_lane, (k + 1) *
// per_lane). Both return whether an earlier access conflicts; they record nothing then.
using RaceRun = bool (*)(RaceEntry* writers, RaceEntry* readers, int lanes, int per_lane, int first_lane,
                         const RaceMoment& moment);
RaceRun race_read_function(VectorUnit unit);
RaceRun race_write_function(VectorUnit unit);

}  // namespace kw
