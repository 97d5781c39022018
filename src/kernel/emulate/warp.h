#pragma once
// The state of a running kernel: a launch is worked off by workers (host threads), each running one block of warps
// after the other.

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernel/emulate/access_shape.h"
#include "kernel/emulate/device_memory.h"
#include "kernel/emulate/emulator.h"
#include "kernel/emulate/finding.h"
#include "kernel/emulate/program.h"
#include "kernel/emulate/race_shadow.h"
#include "kernel/emulate/racy_values.h"

namespace kw {

struct Block;
struct Worker;

// The registers of one activation of a function. Lanes that call the same function together share a frame; a frame
// belongs to one function for good, so its constants are filled once.
struct Frame {
  const FunctionCode* function = nullptr;
  std::unique_ptr<std::byte[]> storage;  // registers, 128-byte aligned inside
  std::byte* registers = nullptr;
  std::vector<LaneMask> undefined;  // of each slot
  std::vector<LaneMask> predicates;
  std::vector<LaneMask> predicates_undefined;
  Frame* caller = nullptr;
  std::uint32_t return_pc = 0;      // in the caller
  std::uint32_t lowest_jump = ~0u;  // of the caller's split
  const CallTarget* call = nullptr;
  HeldMemory held;
  std::uint32_t depth = 0;
  std::uint32_t local_base = 0;  // of its local memory on each thread's stack
  LaneMask inside = 0;           // lanes that have not returned
};

// Shadow of shared and local memory: 0 undefined, 1 defined, and between variables:
inline constexpr int shared_unmapped = 2;
inline constexpr int shared_in_flight = 3;  // an asynchronous copy is on its way here: nobody may touch it

// What an access touches: an allocation, a block's shared memory, or a kernel's parameters, with the shadows that
// belong to it.
struct MemoryView {
  std::byte* data = nullptr;
  std::byte* defined = nullptr;   // null: every byte is defined
  RaceGranules* races = nullptr;  // null: nothing can race
  std::uint64_t base = 0;
  std::uint32_t bytes = 0;
  bool shared = false;
  bool writable = true;
  Allocation* allocation = nullptr;
};

enum class SplitState : std::uint8_t { ready, at_barrier, at_warp_sync };

// Lanes of a warp that stand at the same instruction.
struct Split {
  std::uint32_t pc = 0;
  LaneMask mask = 0;
  Frame* frame = nullptr;
  SplitState state = SplitState::ready;
  bool forced = false;              // goes on although lanes of its mask are missing (already reported)
  std::uint32_t from = 0;           // the last jump came from here
  std::uint32_t lowest_jump = ~0u;  // the lowest target of jumps backwards since the last barrier
  std::uint32_t barrier = 0;        // id, when waiting
  std::uint32_t barrier_count = 0;  // threads; 0: all
};

// Lanes that have left the kernel, and what they did last: did they pass around a barrier that others wait at?
struct Departure {
  LaneMask lanes = 0;
  std::uint32_t last = 0;  // the last instruction that is not just the end of the kernel
  std::uint32_t lowest_jump = ~0u;
};

// One instruction's share of a cp.async: what it will write into shared memory when it is waited for.
struct PendingCopy {
  std::array<std::uint32_t, warp_lanes> group{};  // of each lane
  LaneMask lanes = 0;
  std::uint8_t bytes = 0;
  const Instruction* instruction = nullptr;
  std::array<std::uint32_t, warp_lanes> target{};  // offset in the block's shared memory
  std::array<std::uint64_t, warp_lanes> source{};  // global address
  std::array<std::uint8_t, warp_lanes> extent{};   // bytes that are read there; the others are zero
  std::array<std::array<std::byte, 16>, warp_lanes> data{};
  LaneMask undefined = 0;
};

struct Warp {
  // Of the split that is running.
  std::byte* registers = nullptr;
  LaneMask* undefined = nullptr;
  LaneMask* predicates = nullptr;
  LaneMask* predicates_undefined = nullptr;
  Frame* frame = nullptr;

  Block* block = nullptr;
  Worker* worker = nullptr;
  std::uint32_t index = 0;         // in the block
  LaneMask existing = 0;           // the last warp of a block may be cut short
  LaneMask alive = 0;              // lanes that exist and have not exited
  std::uint32_t first_thread = 0;  // linear number of lane 0
  RaceEntry acquired_time = 0;     // the last time this warp has looked at what others have released
  RaceEntry partial_time = 0;      // of the last barrier of a part of the block that it took part in
  std::uint32_t partners = 0;      // warps that such barriers have ordered with this one since the last whole one
  RaceMoment moment;               // `now`, `barrier` and so on are brought up to date when the warp gets its turn
  bool touched_memory = false;     // memory with race checks, since its last sync: otherwise there is nothing to order
  std::uint32_t turns = 0;
  std::int64_t unfair = 0;  // instructions that one split ran while others were ready
  std::vector<Split> splits;

  std::unique_ptr<Frame> entry;
  std::vector<std::unique_ptr<Frame>> frames;  // in use by calls
  std::vector<std::unique_ptr<Frame>> spare_frames;

  // Local memory, interleaved by 4-byte words as on the hardware: word w of lane l is at (w * 32 + l) * 4.
  std::vector<std::byte> local_data;
  std::vector<std::byte> local_defined;
  HeldMemory held_local;

  static constexpr std::int64_t no_barrier = -1;
  std::array<std::int64_t, warp_lanes> last_barrier{};  // of each lane: the place in the kernel's code
  std::array<LaneMask, 16> arriving{};                  // lanes at bar.arrive, until all of the warp are there
  std::vector<Departure> exits;                         // from the kernel's own code

  std::vector<PendingCopy> copies;
  std::array<std::uint32_t, warp_lanes> open_group{};  // cp.async groups that each lane has committed so far

  template <class T>
  T* lanes(Slot slot) {
    return reinterpret_cast<T*>(registers + slot);
  }
  LaneMask& undefined_of(Slot slot) { return undefined[slot / slot_bytes]; }
  std::uint32_t& u32(Slot slot, int lane) { return lanes<std::uint32_t>(slot)[lane]; }
  std::uint64_t& u64(Slot slot, int lane) { return lanes<std::uint64_t>(slot)[lane]; }
};

struct Block {
  Worker* worker = nullptr;
  std::array<std::uint32_t, 3> index{0, 0, 0};
  std::uint64_t number = 0;  // linear
  std::vector<Warp> warps;
  std::vector<std::uint32_t> order;  // in which the warps get their turns
  std::vector<std::byte> shared_data;
  std::vector<std::byte> shared_defined;
  RaceGranules shared_races;
  RaceEntry barrier_time = 0;
  RaceEntry start_time = 0;
  RaceEntry acquired_time = 0;              // the start of the launch; of the block where time cannot tell blocks apart
  RaceEntry released_time = 0;              // others may know of what was done before
  bool acquired = false;                    // this block has looked at what others have released
  std::array<std::uint32_t, 16> arrived{};  // threads that went on after bar.arrive
  std::array<std::uint32_t, 16> arrivers{};  // their warps
  bool copies_async = false;  // an asynchronous copy has been issued: shadows may say that one is in flight
  HeldMemory held;
  std::uint32_t prints = 0;  // calls of printf by its warps
  bool finished = false;
};

inline constexpr std::uint32_t max_prints_of_a_block = 256;

struct LaunchState {
  const Program* program = nullptr;
  DeviceMemory* memory = nullptr;
  LaunchArguments arguments;
  RunLimits limits;
  RunOptions options;
  std::vector<std::byte> parameters;
  std::uint32_t threads = 0;  // of a block
  std::uint32_t warps = 0;
  std::uint32_t shared_bytes = 0;  // of the window, with dynamic memory
  bool interleaved =
      false;  // several blocks are under way at once: what is between blocks cannot be told apart by time
};

// A shuffle took the value of a lane that was not there. That is no mistake yet: the result may never be used. When
// something undefined is used later, this is what to blame.
struct StrayShuffle {
  const Instruction* instruction = nullptr;
  std::array<std::uint32_t, 3> block{0, 0, 0};
  std::array<std::uint32_t, 3> thread{0, 0, 0};
  int lane = 0;
  int source = 0;
};

enum class StopReason : std::uint8_t { none, budget, judgement_budget, unsupported, too_many_faults, trap, settled };

// Done, and not charged to the judgement's budget yet.
struct UnpaidWork {
  std::uint64_t units = 0;  // of instructions
  std::uint64_t instructions = 0;
  std::uint64_t block_units = 0;
  std::uint64_t blocks = 0;
};

struct Worker {
  LaunchState* launch = nullptr;
  ShapeFunction find_shape = nullptr;
  RaceRun race_read = nullptr;
  RaceRun race_write = nullptr;
  std::vector<MemoryView> caches;                            // of each memory instruction: what it touched last
  std::vector<std::array<std::uint32_t, warp_lanes>> lines;  // of each, and each lane: the cache line touched last
  std::vector<InstructionCount> counts;
  std::vector<RaceGranules> races;  // by allocation
  HeldMemory held;                  // of the races
  FindingLog log;
  FindingLog suspects;               // races of which it matters whether the value that was read is used
  LaterWrites later_writes;          // the other end of some of them
  std::unique_ptr<RacyValues> racy;  // the launch is run again, to see that; nothing is reported
  std::int64_t remaining = 0;        // warp instructions
  std::uint64_t clock = 0;           // warp instructions so far, for %clock
  UnpaidWork unpaid;
  std::int32_t race_time = 1;
  RaceEntry launch_time = 0;
  std::vector<std::pair<RaceEntry, RaceEntry>> unreleased;  // of blocks that have ended: from their last release
  Block* current = nullptr;                                 // the block that is running
  std::vector<Block*> resident;                             // all blocks under way
  StrayShuffle stray;                                       // the first one of the launch
  StopReason stop = StopReason::none;
  bool deadlocked = false;  // a block whose threads wait for each other was given up; also known while profiling
  std::string unsupported;
  std::map<std::uint32_t, std::vector<bool>> behind_barrier;  // of a barrier in the kernel's code: what lies behind it
};

// --- engine.cpp
// Runs until all lanes wait or have exited, or `slice` instructions are used up. True when it did something.
bool run_warp(Warp& warp, std::int64_t slice);
void enter_split(Warp& warp, const Split& split);  // makes its frame the current one

// --- engine_frames.cpp
std::uint64_t bytes_of_frame(const FunctionCode& function);
std::unique_ptr<Frame> make_frame(const FunctionCode& function, const Warp& warp);
void begin_frame(Warp& warp, Frame& frame, LaneMask lanes);  // everything undefined, local addresses filled
void set_block_values(Warp& warp, Frame& frame);
void call_function(Warp& warp, std::size_t split, const Instruction& instruction);
void return_from_function(Warp& warp, std::size_t split);
void leave_frames(Warp& warp, Frame* frame, LaneMask lanes);  // exit inside a called function
bool reserve_local(Warp& warp, std::uint32_t bytes);          // per thread; false: too much

// --- engine_block.cpp
std::unique_ptr<Block> make_block(Worker& worker);        // null, and the worker stops: there is no memory for it
std::uint64_t bytes_of_block(const LaunchState& launch);  // without local memory
void begin_block(Block& block, std::uint64_t number);
// True when it has finished; false when its slice is used up and it should be continued later.
bool run_block(Block& block, std::int64_t slice);

// --- engine_barrier.cpp
void arrive_at_barrier(Warp& warp, Split& split, const Instruction& instruction, LaneMask active);
void note_exit(Warp& warp, const Split& split, const Instruction& instruction);
void merge_waiting(Warp& warp);  // lanes that came to a barrier one after the other
bool release_barriers(Block& block);
void report_deadlock(Block& block);  // nobody can go on

// --- engine_races.cpp
void tick(Worker& worker);  // something is ordered
void refresh_moment(Warp& warp);
void order_warp(Warp& warp);                          // bar.warp.sync, shfl.sync ...
void order_block(Block& block);                       // barriers
void order_warps(Block& block, std::uint32_t warps);  // barriers of a part of the block; bit i: warp i
void acquire(Warp& warp, bool device_wide);
void release(Warp& warp, bool device_wide);
void fence(Warp& warp, bool device_wide);  // both
void end_releases(Block& block);           // it has ended: what it has not released nobody may read
// Does an earlier access conflict with one of thread `self`? As race_conflict, and knows what fences have ordered.
bool unordered_write(const Warp& warp, const RaceMoment& moment, RaceEntry writer, RaceEntry self);
bool unordered_read(const Warp& warp, const RaceMoment& moment, RaceEntry reader, RaceEntry self);

// --- engine_report.cpp
const InstructionOrigin& origin_of(const Warp& warp, const Instruction& instruction);
void report(Warp& warp, FindingKind kind, const Instruction& instruction, int lane, std::uint64_t address,
            const std::string& message, std::string_view advice = {});  // empty: the general one of the kind
// A race that counts only when the value that was read is used; see racy_values.h.
void suspect(Warp& warp, FindingKind kind, const Instruction& instruction, int lane, std::uint64_t address,
             const std::string& message);
std::string stray_text(const StrayShuffle& stray);
void report_undefined(Warp& warp, FindingKind kind, const Instruction& instruction, LaneMask lanes, const char* what);
std::string thread_text(const Warp& warp, int lane);
std::array<std::uint32_t, 3> thread_index(const Warp& warp, int lane);

}  // namespace kw
