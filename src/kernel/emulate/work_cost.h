#pragma once
// What the emulator's work costs in units of a WorkBudget (base/work_budget.h), which are about nanoseconds of one core
// with all checks on. `scripts/storms.py` shows how well they fit; what a kernel can choose is priced near its dearest,
// so that no kernel costs much more time than it pays for.

#include <cstdint>

#include "kernel/emulate/emulator.h"

namespace kw {

struct LaunchState;
struct Worker;

namespace work_cost {
inline constexpr std::uint16_t simple_instruction = 60;
inline constexpr std::uint16_t dear_instruction = 400;  // division, roots, exponentials, conversions lane by lane
inline constexpr std::uint16_t memory_instruction = 120;
inline constexpr std::uint16_t exchange_instruction = 150;
inline constexpr std::uint16_t match_instruction = 900;  // each lane with each other
inline constexpr std::uint16_t matrix_memory_instruction = 3'000;
inline constexpr std::uint64_t lane_by_lane = 60;         // a lane's access that has no fast path
inline constexpr std::uint64_t scattered_lane = 12;       // a lane's access away from its neighbours'
inline constexpr std::uint64_t cold_scattered_lane = 80;  // the same in a line, new to the lane, of what no cache holds
inline constexpr std::uint64_t cold_lane = 250;           // and without the fast path
inline constexpr std::uint64_t cached_bytes = 4 << 20;
inline constexpr std::uint64_t split = 60;         // a turn of some of a warp's lanes
inline constexpr std::uint64_t other_split = 6;    // for each further split that is looked at
inline constexpr std::uint64_t barrier_look = 30;  // for each warp and split when barriers are looked at
inline constexpr std::uint64_t report = 300;       // an access that goes wrong
inline constexpr std::uint64_t call = 300;
inline constexpr std::uint64_t new_page = 600;  // of memory that the host has not touched yet
inline constexpr std::uint64_t block = 300;
inline constexpr std::uint64_t warp = 150;
inline constexpr std::uint64_t launch = 6'000;
inline constexpr std::uint64_t allocation = 3'000;
}  // namespace work_cost

// Bytes that are set or copied; and those of memory that is new to the process, which the kernel clears first.
inline constexpr std::uint64_t byte_units(std::uint64_t bytes) { return bytes / 4 + 1; }
inline constexpr std::uint64_t new_byte_units(std::uint64_t bytes) { return bytes / 4 * 3 + 1; }

// Of an instruction as it was decoded, without what depends on its lanes' addresses.
std::uint16_t instruction_units(const FunctionCode& function, const Instruction& instruction,
                                const PtxInstruction& source);

// What starting one block of the launch costs at least.
std::uint64_t block_units(const LaunchState& launch);
// What a launch costs before its first block: state for each instruction and each allocation.
std::uint64_t launch_units(const LaunchState& launch);

inline constexpr std::uint64_t paying_units = 1'000'000;  // work that is worth charging
// Charges the worker's work to the budget; false, and the worker stops, when it is used up.
bool pay(Worker& worker);

}  // namespace kw
