#include "kernel/emulate/memory_races.h"

#include <cstring>

#include "kernel/emulate/lane_bits.h"
#include "kernel/emulate/memory_view.h"

namespace kw {
namespace {

RaceMoment moment_for(const Warp& warp, const MemoryView& view) {
  RaceMoment moment = warp.moment;
  if (view.shared) moment.launch_start = moment.block_start;
  return moment;
}

bool prepare_granules(Warp& warp, const MemoryView& view, const MemoryAccess& access) {
  int wanted = access.element_bytes * access.elements >= 4 ? 2 : access.element_bytes * access.elements == 2 ? 1 : 0;
  return wanted >= view.races->shift || refine_races(warp, view, wanted);
}

}  // namespace

void race_load(Warp& warp, const Instruction& in, const MemoryAccess& access, const MemoryView& view,
               const AccessShape& shape, LaneMask active) {
  if (!prepare_granules(warp, view, access)) return;
  warp.touched_memory = true;
  RaceMoment moment = moment_for(warp, view);
  RaceGranules& races = *view.races;
  auto bytes = static_cast<std::uint32_t>(access.element_bytes * access.elements);
  int per_lane = static_cast<int>(bytes >> races.shift);
  int first = __builtin_ctz(active);
  if (shape.run && is_run(active)) {
    std::uint32_t granule = shape.offset[first] >> races.shift;
    if (!warp.worker->race_read(races.writers.data() + granule, races.readers.data() + granule,
                                __builtin_popcount(active), per_lane, first, moment))
      return;
  } else {
    // Lanes that read the same word as their neighbour (a broadcast) are one entry with `many`.
    LaneMask conflicts = 0;
    LaneMask heads = active == all_lanes ? shape.heads : active;
    const RaceEntry recent = view.shared ? moment.barrier : moment.launch_start;  // older entries cannot conflict
    while (heads != 0) {
      int lane = __builtin_ctz(heads);
      heads &= heads - 1;
      // Up to the next head.
      LaneMask same = 1u << lane;
      if (active == all_lanes) same = (heads != 0 ? (heads & -heads) - 1 : all_lanes) & ~((1u << lane) - 1);
      std::uint32_t offset = shape.offset[lane];
      RaceEntry self = moment.warp | lane;
      bool several = (same & (same - 1)) != 0;
      RaceEntry* writers = races.writers.data() + (offset >> races.shift);
      RaceEntry* readers = races.readers.data() + (offset >> races.shift);
      for (int k = 0; k < per_lane; ++k) {
        RaceEntry writer = writers[k];
        if (writer >= recent) {
          bool conflict = race_conflict(writer, self, moment);
          if (several) conflict |= race_conflict(writer, moment.warp | (31 - __builtin_clz(same)), moment);
          if (conflict) conflicts |= same;
        }
        RaceEntry next = race_reader_after(readers[k], self, moment);
        if (several && (next & (race_thread_bits & ~race_lane_bits)) == moment.warp)
          next = (next & ~race_lane_bits) | race_many;
        readers[k] = next;
      }
    }
    if (conflicts == 0) return;
    active = conflicts;
  }
  for_lanes(active, [&](int lane) {
    race_access(warp, in, view, lane, shape.offset[lane], bytes, AccessKind::read, false, access.synchronizing);
  });
}

LaneMask racing_lanes(Warp& warp, const MemoryAccess& access, const MemoryView& view, const AccessShape& shape,
                      LaneMask active, int element) {
  if (!prepare_granules(warp, view, access)) return 0;
  LaneMask racing = 0;
  const auto add = static_cast<std::uint32_t>(element * access.element_bytes);
  for_lanes(active, [&](int lane) {
    if (racing_read(warp, view, lane, shape.offset[lane] + add, access.element_bytes, access.synchronizing) !=
        ReadRace::none)
      racing |= LaneMask{1} << lane;
  });
  return racing;
}

namespace {

std::uint64_t register_value(Warp& warp, const MemoryAccess& access, int k, int lane) {
  return access.register_bytes[k] == 8 ? warp.u64(access.parts[k], lane) : warp.u32(access.parts[k], lane);
}

// Do all lanes write the same to one place? Looked at once for the warp, because kernels that do it do it all the time.
bool lanes_agree(Warp& warp, const MemoryAccess& access, LaneMask active) {
  bool agree = true;
  for (int k = 0; k < access.elements; ++k) {
    const std::uint64_t first = register_value(warp, access, k, __builtin_ctz(active));
    for_lanes(active, [&](int lane) { agree &= register_value(warp, access, k, lane) == first; });
  }
  return agree;
}

// Is what this lane stores there already, from another thread?
bool stores_what_is_there(Warp& warp, const MemoryAccess& access, const MemoryView& view, const AccessShape& shape,
                          int lane) {
  bool same = true;
  for (int k = 0; k < access.elements; ++k) {
    const std::uint64_t value = register_value(warp, access, k, lane);
    const std::size_t place = shape.offset[lane] + static_cast<std::size_t>(k) * access.element_bytes;
    // What nobody has written is nobody's value, whatever the byte happens to be.
    for (std::size_t i = 0; view.defined != nullptr && i < access.element_bytes; ++i)
      same &= view.defined[place + i] == std::byte{1};
    same &= std::memcmp(&value, view.data + place, access.element_bytes) == 0;
  }
  return same;
}

// Do all lanes that write to this lane's place, or else what another thread has written there, agree?
bool stores_same_value(Warp& warp, const MemoryAccess& access, const MemoryView& view, const AccessShape& shape,
                       LaneMask active, int lane) {
  bool shared_place = false, agree = true;
  for_lanes(active, [&](int other) {
    if (other == lane || shape.offset[other] != shape.offset[lane]) return;
    shared_place = true;
    for (int k = 0; k < access.elements; ++k)
      agree &= register_value(warp, access, k, other) == register_value(warp, access, k, lane);
  });
  return shared_place ? agree : stores_what_is_there(warp, access, view, shape, lane);
}

// One place for all lanes, with the same value from each: what one of them would do, and a note. True when that is all.
bool store_uniform(Warp& warp, const Instruction& in, const MemoryAccess& access, const MemoryView& view,
                   const AccessShape& shape, const RaceMoment& moment, LaneMask active, std::uint32_t bytes) {
  RaceGranules& races = *view.races;
  if (warp.worker->racy != nullptr || !lanes_agree(warp, access, active)) return false;
  const int first = __builtin_ctz(active);
  const std::uint32_t offset = shape.offset[first];
  const RaceEntry self = moment.warp | first;
  bool before = false;
  for (std::uint32_t granule = offset >> races.shift; granule <= (offset + bytes - 1) >> races.shift; ++granule) {
    // As of several lanes: whoever has touched it since the last sync is another thread than one of these.
    if (unordered_read(warp, moment, races.readers[granule], self) || races.readers[granule] >= moment.warp_sync)
      return false;
    before |= unordered_write(warp, moment, races.writers[granule], self);
  }
  if (before && !stores_what_is_there(warp, access, view, shape, first)) return false;
  for (std::uint32_t granule = offset >> races.shift; granule <= (offset + bytes - 1) >> races.shift; ++granule)
    races.writers[granule] = moment.now | moment.warp | race_many;
  report_race(warp, in, first, view, offset, AccessKind::write, moment.now | moment.warp | race_many, false, true);
  return true;
}

}  // namespace

void race_store(Warp& warp, const Instruction& in, const MemoryAccess& access, const MemoryView& view,
                const AccessShape& shape, LaneMask active) {
  if (!prepare_granules(warp, view, access)) return;
  warp.touched_memory = true;
  RaceMoment moment = moment_for(warp, view);
  RaceGranules& races = *view.races;
  auto bytes = static_cast<std::uint32_t>(access.element_bytes * access.elements);
  int first = __builtin_ctz(active);
  if (!access.synchronizing && shape.run && is_run(active)) {
    std::uint32_t granule = shape.offset[first] >> races.shift;
    if (!warp.worker->race_write(races.writers.data() + granule, races.readers.data() + granule,
                                 __builtin_popcount(active), static_cast<int>(bytes >> races.shift), first, moment))
      return;
  } else if (!access.synchronizing && shape.uniform && active != (active & -active) &&
             store_uniform(warp, in, access, view, shape, moment, active, bytes)) {
    return;
  }
  const RaceEntry flag = access.synchronizing ? race_flag : 0;
  for_lanes(active, [&](int lane) {
    std::uint32_t offset = shape.offset[lane];
    RaceEntry self = moment.warp | lane;
    if (access.synchronizing && !view.shared) {
      for (std::uint32_t granule = offset >> races.shift; granule <= (offset + bytes - 1) >> races.shift; ++granule)
        races.writers[granule] = moment.now | self | flag;
      return;
    }
    bool conflict = false, read_before = false;
    for (std::uint32_t granule = offset >> races.shift; granule <= (offset + bytes - 1) >> races.shift; ++granule) {
      read_before |= unordered_read(warp, moment, races.readers[granule], self);
      const bool both_strong = flag != 0 && (races.writers[granule] & race_flag) != 0;
      conflict |= read_before || (!both_strong && unordered_write(warp, moment, races.writers[granule], self));
      if (!conflict) races.writers[granule] = moment.now | self | flag;
    }
    // Who has read the place may just as well have seen what was there before all of these stores.
    if (conflict)
      race_access(warp, in, view, lane, offset, bytes, AccessKind::write,
                  !read_before && stores_same_value(warp, access, view, shape, active, lane), flag != 0);
  });
}

}  // namespace kw
