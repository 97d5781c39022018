#pragma once
// Views of memory, the reports about accesses that go wrong, and the access of a single lane.

#include <cstddef>
#include <cstdint>

#include "kernel/emulate/warp.h"

namespace kw {

MemoryView view_of(Warp& warp, Allocation& allocation);
MemoryView view_of_shared(Warp& warp);
MemoryView view_of_parameters(Warp& warp);

// "shared memory tile + 64": what lies there, in the user's words.
std::string shared_place(const Warp& warp, std::uint32_t offset);

enum class AccessKind : std::uint8_t { read, write, atomic };

// Out of bounds, null, freed: says which, and what lies near.
void report_fault(Warp& warp, const Instruction& instruction, int lane, PtxSpace space, std::uint64_t address,
                  std::uint32_t bytes, AccessKind kind);
void report_misaligned(Warp& warp, const Instruction& instruction, int lane, std::uint64_t address,
                       std::uint32_t bytes);
void report_read_only(Warp& warp, const Instruction& instruction, int lane, std::uint64_t address,
                      const MemoryView& view);
// `earlier` is the entry that conflicts; `same_value` makes it a note. Where one of the two is a read it is a
// suspicion.
void report_race(Warp& warp, const Instruction& instruction, int lane, const MemoryView& view, std::uint32_t offset,
                 AccessKind kind, RaceEntry earlier, bool earlier_was_read, bool same_value);

// Makes the granules of the races finer; false, and the worker stops, when there is no memory for that.
bool refine_races(Warp& warp, const MemoryView& view, int wanted_shift);

// Race check and record for one lane's access of `bytes` at `offset`; `same_value`: a store of what is there already;
// `strong`: volatile, relaxed and the like, which do not race with each other or with atomic operations (PTX ISA 9.0,
// 8.7.1 "Conflict and data-races": conflicting operations race unless they are ordered or morally strong).
void race_access(Warp& warp, const Instruction& instruction, const MemoryView& view, int lane, std::uint32_t offset,
                 std::uint32_t bytes, AccessKind kind, bool same_value, bool strong = false);

// One lane's access with all checks, in any space. False: it was a fault, which has been reported.
bool read_lane(Warp& warp, const Instruction& instruction, PtxSpace space, std::uint64_t address, int lane,
               std::uint32_t bytes, void* value, bool& undefined, bool strong = false);
bool write_lane(Warp& warp, const Instruction& instruction, PtxSpace space, std::uint64_t address, int lane,
                std::uint32_t bytes, const void* value, bool undefined, bool strong = false);
// Pages of memory that costs nothing until it is touched, see DeviceMemory::allocate_tiled. False, and the worker
// stops, when there is no memory for them.
bool take_pages(Warp& warp, Allocation& allocation, std::uint64_t fresh, bool written);
inline bool touch(Warp& warp, Allocation& allocation, std::uint64_t offset, std::uint64_t bytes, bool written) {
  const std::uint64_t fresh = allocation.lazy->touch(offset, bytes, written);
  return fresh == 0 || take_pages(warp, allocation, fresh, written);
}

// The view and the offset of one lane's address (not local memory), checked; false: reported.
bool resolve_lane(Warp& warp, const Instruction& instruction, PtxSpace space, std::uint64_t address, int lane,
                  std::uint32_t bytes, AccessKind kind, MemoryView& view, std::uint32_t& offset);

// Splits a generic address into its space; the offset within a window is left in `address`.
PtxSpace space_of_address(std::uint64_t& address);

void addresses_of(Warp& warp, const Instruction& instruction, const MemoryAccess& access, std::uint64_t* addresses);

}  // namespace kw
