#pragma once
// The executable form: instructions decoded once, run many times by warps of 32 lanes. A register is a slot of 32 lanes
// in the warp's register file; immediates and special values are slots too, filled when the warp is made, so that an
// operation only ever reads slots.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kernel/emulate/lane_operations.h"
#include "kernel/emulate/ptx_module.h"

namespace kw {

inline constexpr int warp_lanes = 32;
using LaneMask = std::uint32_t;  // bit i: lane i
inline constexpr LaneMask all_lanes = 0xffffffffu;

// Byte offset of a slot in the frame's register file; slots are 128-byte aligned. 8-, 16- and 32-bit registers have
// 4-byte lanes (zero-extended to 32 bits; 128 bytes a slot), 64-bit registers 8-byte lanes (256 bytes). A predicate is
// a LaneMask in its own small file, addressed by index.
using Slot = std::uint32_t;
inline constexpr std::uint32_t slot_bytes = 128;
inline constexpr Slot no_slot = 0xffffffffu;
inline constexpr std::int32_t no_predicate = -1;

// The generic address space. Global memory (and constants) lie where DeviceMemory puts them; the other spaces are
// windows of it, told apart by the top 16 bits of an address.
enum class Window : std::uint16_t { global = 0, shared = 1, local = 2, param = 3, code = 4 };
inline constexpr int window_shift = 48;
inline constexpr std::uint64_t window_base(Window window) { return static_cast<std::uint64_t>(window) << window_shift; }
inline constexpr std::uint64_t window_offset_mask = (std::uint64_t{1} << window_shift) - 1;
// What a cooperative launch needs for its grid-wide barrier lies here; %envreg1 and 2 hold this address.
inline constexpr std::uint64_t grid_workspace_address = std::uint64_t{4} << 32;
inline constexpr std::uint64_t grid_workspace_bytes = 1024;
inline constexpr std::uint64_t code_address_step = 16;  // between the addresses of two functions

struct Warp;
struct Instruction;
// Executes the instruction for the lanes in `active` (guard already applied; never zero).
using Operation = void (*)(Warp& warp, const Instruction& instruction, LaneMask active);

// What happens to the program counter. Everything except `next` is done by the warp's scheduler.
enum class Flow : std::uint8_t {
  next,          // run, then the following instruction
  warp_sync,     // the lanes named in the mask of source[3] come together first, then as `next`
  branch,        // guarded lanes go to `target`
  branch_table,  // brx.idx: source[0] selects from branch_tables[detail]
  call,          // calls[detail]
  ret,
  exit,
  barrier,  // barriers[detail]
  trap,
  unsupported,  // reached an instruction that is not emulated: ends the run with that verdict
};

struct Instruction {
  Operation run = nullptr;
  LaneOperation lane = nullptr;  // of an arithmetic instruction
  Slot destination = no_slot;    // or predicate index, for setp-like ones
  Slot source[4] = {no_slot, no_slot, no_slot, no_slot};
  std::int32_t guard = no_predicate;
  std::int32_t predicate_in = no_predicate;     // selp, combining setp, carry
  std::int32_t predicate_out = no_predicate;    // setp, carry, shfl's and match's second result
  std::int32_t predicate_other = no_predicate;  // setp's q
  Flow flow = Flow::next;
  bool guard_negated = false;
  bool predicate_in_negated = false;
  std::uint8_t sources = 0;    // how many of source[] are registers, for the propagation of undefined lanes
  std::uint16_t extra = 0;     // meaning depends on the operation (mode, width ...)
  std::uint16_t work = 1;      // what it costs the host, see work_cost.h
  std::uint32_t target = 0;    // branch
  std::uint32_t detail = 0;    // index into a side table of the function
  std::int64_t immediate = 0;  // address offset
  std::uint32_t origin = 0;    // index into Program::origins; also of the statistics
};

// ld, st, atom, red, cp.async and the matrix loads.
struct MemoryAccess {
  PtxSpace space = PtxSpace::generic;
  std::uint8_t element_bytes = 4;
  std::uint8_t elements = 1;
  bool sign_extend = false;
  std::uint8_t register_bytes[8] = {4, 4, 4, 4, 4, 4, 4, 4};  // of each element's register: 2, 4 or 8
  bool wide_base = true;                                      // the address register has 64 bits
  bool read_only_path = false;                                // .nc, .const
  bool synchronizing = false;  // "strong": volatile, relaxed, acquire, release; made for other threads to see
  bool acquire = false;        // orders what other threads have released before
  bool release = false;        // and the other half of that
  Slot parts[8] = {no_slot, no_slot, no_slot, no_slot,
                   no_slot, no_slot, no_slot, no_slot};  // registers of the elements; no_slot: sink
  std::uint32_t cache = 0;                               // inline cache: the allocation that was hit last
};

enum class AtomicOperation : std::uint8_t { add, min, max, exch, cas, bit_and, bit_or, bit_xor, inc, dec };
struct AtomicAccess {
  MemoryAccess memory;
  AtomicOperation operation = AtomicOperation::add;
  PtxType type = PtxType::none;
  bool returns = false;
};

struct CallTarget {
  std::int32_t function = -1;  // index into Program::functions; -1: indirect through `pointer`
  Slot pointer = no_slot;
  std::string external;  // a function without a body (vprintf, malloc, ...)
  struct Place {         // where a parameter lies: in the frame's local memory, or in a register
    std::uint32_t offset = 0;
    std::uint32_t bytes = 0;
    Slot slot = no_slot;
    bool wide = false;
  };
  std::vector<Place> arguments;
  std::vector<Place> returns;
};

struct BarrierUse {
  enum class Kind : std::uint8_t { sync, arrive, reduce_popc, reduce_and, reduce_or };
  Kind kind = Kind::sync;
  Slot id = no_slot;
  Slot count = no_slot;                   // no_slot: all threads of the block
  std::int32_t predicate = no_predicate;  // of a reduction
  bool predicate_negated = false;
  Slot result = no_slot;  // reduce_popc
  std::int32_t result_predicate = no_predicate;
  bool aligned = true;  // all lanes of a warp have to come together
};

enum class SpecialValue : std::uint8_t {
  tid_x,
  tid_y,
  tid_z,
  ntid_x,
  ntid_y,
  ntid_z,
  ctaid_x,
  ctaid_y,
  ctaid_z,
  nctaid_x,
  nctaid_y,
  nctaid_z,
  laneid,
  warpid,
  nwarpid,
  smid,
  nsmid,
  gridid,
  lanemask_eq,
  lanemask_le,
  lanemask_lt,
  lanemask_ge,
  lanemask_gt,
  dynamic_shared_bytes,
  total_shared_bytes,
  aggregate_shared_bytes,
  reserved_shared_bytes,
  grid_workspace_high,
  grid_workspace_low,
  zero,
  one
};

struct ConstantSlot {
  Slot slot = 0;
  bool wide = false;
  std::uint64_t bits = 0;
};
struct SpecialSlot {
  Slot slot = 0;
  bool wide = false;
  SpecialValue value = SpecialValue::tid_x;
};
struct LocalAddressSlot {  // the address of a variable in this frame's local memory
  Slot slot = 0;
  std::uint32_t offset = 0;
};

struct MatrixOperation {  // mma and wmma; see engine_matrix.cpp
  enum class Kind : std::uint8_t { mma, wmma, load, store, ldmatrix, stmatrix };
  Kind kind = Kind::mma;
  std::uint16_t m = 0, n = 0, k = 0;
  PtxType a = PtxType::none, b = PtxType::none, c = PtxType::none, d = PtxType::none;
  char fragment = 'a';  // of a load or store
  bool a_column = false, b_column = true, transposed = false, saturate = false;
  bool subtract = false;
  MemoryAccess memory;
  Slot stride = no_slot;
  std::vector<Slot> registers_d, registers_a, registers_b, registers_c;
};

struct FunctionCode {
  std::string name;
  std::vector<Instruction> code;  // blocks in reverse post-order
  std::uint32_t file_bytes = 0;
  std::uint32_t predicates = 0;
  std::uint32_t local_bytes = 0;
  std::vector<ConstantSlot> constants;
  std::vector<SpecialSlot> specials;
  std::vector<LocalAddressSlot> local_addresses;
  std::vector<LaneMask> initially_undefined;  // one for each slot_bytes of the file
  std::vector<CallTarget::Place> parameters;
  std::vector<CallTarget::Place> returns;

  std::vector<MemoryAccess> memory;
  std::vector<AtomicAccess> atomics;
  std::vector<CallTarget> calls;
  std::vector<BarrierUse> barriers;
  std::vector<std::vector<std::uint32_t>> branch_tables;
  std::vector<MatrixOperation> matrices;
  std::vector<std::uint32_t> not_unrolled;  // where loops begin that the source asks not to unroll
};

struct InstructionOrigin {
  PtxOrigin where;
  std::string form;  // "ld.global.v4.f32"
  std::string function;
};

struct SharedVariable {
  std::string name;
  std::uint32_t offset = 0;
  std::uint32_t bytes = 0;
  bool dynamic = false;
};

// One kernel with everything that it calls.
struct Program {
  std::string kernel;
  std::vector<FunctionCode> functions;  // [0] is the kernel
  std::vector<InstructionOrigin> origins;
  std::vector<PtxVariable> parameters;  // of the kernel
  std::vector<std::uint32_t> parameter_offsets;
  std::uint32_t parameter_bytes = 0;
  std::vector<SharedVariable> shared;       // with red zones between; see shared_layout.h
  std::uint32_t reserved_shared_bytes = 0;  // of the system, in front of the first variable
  std::uint32_t shared_window_bytes = 0;    // up to where dynamic shared memory begins
  std::uint32_t static_shared_bytes = 0;    // what the hardware would need up to there, without red zones
  bool uses_dynamic_shared = false;
  std::map<std::uint32_t, std::int32_t>
      function_index;  // index in the module -> in `functions`, for calls through pointers
  bool shared_atomics = false;
  bool global_atomics = false;  // blocks have to run one after the other
  bool spins = false;           // volatile or acquiring loads: blocks may wait for each other
  bool shared_flags = false;    // the same in shared memory: warps of a block may
  bool reads_clock = false;     // its value depends on what ran before
  bool acquires = false;        // loads and atomics that order by themselves
  bool fences_order = false;    // has fences and something to publish with (atomics, volatile)
  std::uint32_t inline_caches = 0;
  std::uint32_t max_threads[3] = {0, 0, 0};
  std::uint32_t required_threads[3] = {0, 0, 0};
};

}  // namespace kw
