#pragma once
// A kernel's instructions with what the model needs to know about each: cost, registers read and written, loops.

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "kernel/emulate/program.h"
#include "kernel/performance/device_profile.h"

namespace kw {

struct StaticInstruction {
  const Instruction* instruction = nullptr;
  const FunctionCode* function = nullptr;
  std::uint32_t origin = 0;
  Pipe pipe = Pipe::integer;
  double issue_slots = 1;
  double pipe_lanes = 0;  // for one warp, in the unit of DeviceProfile::lanes_per_cycle
  double latency_cycles = 0;
  bool starts_region = false;  // ptxas reorders within basic blocks only
  bool predicated = false;     // a branch that is none: what it skips gets a predicate
  bool barrier = false;
  bool memory = false;
  bool plain_load = false;
  bool ordered_load = false;  // may not be moved before an earlier store: not through the read-only path
  bool store = false;
  bool past_l1 = false;  // a load that other threads' stores must be seen by, or that asks for it
  bool copy_commit = false;
  bool copy_wait = false;
  bool float_atomic = false;
  bool unrolled_loop = false;        // the first or last of a loop that ptxas unrolls
  std::int32_t loop = -1;            // a back edge: index into StaticCode::loops
  std::int32_t compare = -1;         // one that is watched: index into StaticCode::compares
  std::vector<std::uint32_t> reads;  // registers and predicates, numbered over all functions
  std::vector<std::uint32_t> writes;
};

// An integer comparison: a OP b.
struct LoopCondition {
  enum class Operator { less, less_equal, greater, greater_equal, equal, not_equal };
  Operator op = Operator::less;
  Slot a = no_slot;
  Slot b = no_slot;
  bool wide = false;
  bool is_signed = true;
};

// A register that might be counted up by the loop.
struct LoopRegister {
  Slot slot = 0;
  bool wide = false;
};

// A branch back, taken when the loop goes on.
struct Loop {
  std::uint32_t first = 0;  // instruction numbers, over all functions
  std::uint32_t branch = 0;
  std::optional<LoopCondition> condition;  // that the branch depends on directly: the loop goes on while it holds
  // Without that, all comparisons in the loop but not in a loop inside it: until one of them comes out differently, the
  // loop goes on as before.
  std::vector<std::uint32_t> compares;
  std::vector<LoopRegister> integers;  // written inside
};

struct StaticCode {
  const Program* program = nullptr;
  std::vector<StaticInstruction> instructions;
  std::vector<Loop> loops;
  std::vector<LoopCondition> compares;
  std::uint32_t registers = 0;
  bool barriers = false;
  std::unordered_map<const FunctionCode*, std::uint32_t> first_of;

  std::uint32_t number_of(const FunctionCode& function, const Instruction& instruction) const {
    return first_of.find(&function)->second + static_cast<std::uint32_t>(&instruction - function.code.data());
  }
};

StaticCode read_code(const Program& program, const DeviceProfile& profile);

}  // namespace kw
