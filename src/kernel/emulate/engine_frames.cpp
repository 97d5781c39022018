// Register frames: made once for each function and warp, begun anew at each call.

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "kernel/emulate/local_memory.h"
#include "kernel/emulate/shared_layout.h"
#include "kernel/emulate/warp.h"
#include "kernel/emulate/work_cost.h"

namespace kw {
namespace {

constexpr std::uint32_t depth_limit = 200;
constexpr std::uint32_t local_limit_bytes = 512u << 10;  // of a thread, as on the hardware

template <class Value>
void fill(Frame& frame, Slot slot, bool wide, Value value) {
  for (int lane = 0; lane < warp_lanes; ++lane) {
    std::uint64_t bits = value(lane);
    if (wide) {
      reinterpret_cast<std::uint64_t*>(frame.registers + slot)[lane] = bits;
    } else {
      reinterpret_cast<std::uint32_t*>(frame.registers + slot)[lane] = static_cast<std::uint32_t>(bits);
    }
  }
}

// What the hardware hands out: %total_smem_size and %aggr_smem_size are multiples of it (PTX ISA 9.0, 10.29 and 10.30).
constexpr std::uint64_t shared_unit_bytes = 128;

std::uint64_t user_shared_bytes(const LaunchState& launch) {
  const std::uint64_t bytes =
      std::uint64_t{launch.program->static_shared_bytes} + launch.arguments.dynamic_shared_bytes;
  return (bytes + shared_unit_bytes - 1) / shared_unit_bytes * shared_unit_bytes;
}

std::uint64_t special_value(const Warp& warp, SpecialValue value, int lane) {
  const LaunchState& launch = *warp.worker->launch;
  const auto& block = launch.arguments.block;
  const auto& grid = launch.arguments.grid;
  std::uint32_t thread = warp.first_thread + static_cast<std::uint32_t>(lane);
  using S = SpecialValue;
  switch (value) {
    case S::tid_x:
      return thread % block[0];
    case S::tid_y:
      return thread / block[0] % block[1];
    case S::tid_z:
      return thread / block[0] / block[1];
    case S::ntid_x:
      return block[0];
    case S::ntid_y:
      return block[1];
    case S::ntid_z:
      return block[2];
    case S::ctaid_x:
      return warp.block->index[0];
    case S::ctaid_y:
      return warp.block->index[1];
    case S::ctaid_z:
      return warp.block->index[2];
    case S::nctaid_x:
      return grid[0];
    case S::nctaid_y:
      return grid[1];
    case S::nctaid_z:
      return grid[2];
    case S::laneid:
      return static_cast<std::uint64_t>(lane);
    case S::warpid:
      return warp.index;
    case S::nwarpid:
      return 64;
    case S::smid:
      return warp.block->number % 108;
    case S::nsmid:
      return 108;
    case S::gridid:
      return 1;
    case S::lanemask_eq:
      return 1u << lane;
    case S::lanemask_lt:
      return (1u << lane) - 1;
    case S::lanemask_le:
      return (1u << lane) | ((1u << lane) - 1);
    case S::lanemask_gt:
      return ~((1u << lane) | ((1u << lane) - 1));
    case S::lanemask_ge:
      return ~((1u << lane) - 1);
    case S::dynamic_shared_bytes:
      return launch.arguments.dynamic_shared_bytes;
    case S::total_shared_bytes:
      return user_shared_bytes(launch);
    case S::aggregate_shared_bytes:
      return user_shared_bytes(launch) + system_shared_bytes;
    case S::reserved_shared_bytes:
      return launch.program->reserved_shared_bytes;
    case S::grid_workspace_high:
      return launch.arguments.cooperative ? grid_workspace_address >> 32 : 0;
    case S::grid_workspace_low:
      return launch.arguments.cooperative ? grid_workspace_address & 0xffffffffu : 0;
    case S::zero:
      return 0;
    case S::one:
      return 1;
  }
  return 0;
}

bool depends_on_block(SpecialValue value) {
  return value == SpecialValue::ctaid_x || value == SpecialValue::ctaid_y || value == SpecialValue::ctaid_z ||
         value == SpecialValue::smid;
}

// Moves a parameter between a place of one frame and a place of another.
void copy_parameter(Warp& warp, const Frame& from_frame, const CallTarget::Place& from, Frame& to_frame,
                    const CallTarget::Place& to, LaneMask lanes) {
  std::uint32_t bytes = std::min(from.bytes, to.bytes);
  for (std::uint32_t offset = 0; offset < bytes; offset += 4) {
    for (LaneMask left = lanes; left != 0; left &= left - 1) {
      int lane = __builtin_ctz(left);
      LocalWord word;
      if (from.slot != no_slot) {
        std::memcpy(word.bytes,
                    from_frame.registers + from.slot + static_cast<std::size_t>(lane) * (from.wide ? 8 : 4) + offset,
                    4);
        bool undefined = ((from_frame.undefined[from.slot / slot_bytes] >> lane) & 1) != 0;
        std::memset(word.defined, undefined ? 0 : 1, 4);
      } else {
        word = local_word(warp, from_frame.local_base + from.offset + offset, lane);
      }
      if (to.slot != no_slot) {
        std::memcpy(to_frame.registers + to.slot + static_cast<std::size_t>(lane) * (to.wide ? 8 : 4) + offset,
                    word.bytes, 4);
        LaneMask& undefined = to_frame.undefined[to.slot / slot_bytes];
        undefined = (undefined & ~(1u << lane)) | (word.defined[0] == std::byte{1} ? 0 : 1u << lane);
      } else {
        set_local_word(warp, to_frame.local_base + to.offset + offset, lane, word);
      }
    }
  }
}

// Null when there is no memory for another one.
Frame* take_frame(Warp& warp, const FunctionCode& function) {
  auto spare = std::find_if(warp.spare_frames.begin(), warp.spare_frames.end(),
                            [&](const auto& frame) { return frame->function == &function; });
  if (spare != warp.spare_frames.end()) {
    warp.frames.push_back(std::move(*spare));
    *spare = std::move(warp.spare_frames.back());
    warp.spare_frames.pop_back();
  } else {
    // Calls nest, and the lanes of a warp may be in different ones: each takes registers of its own.
    HeldMemory held(warp.worker->launch->options.budget);
    if (!held.add(bytes_of_frame(function))) return nullptr;
    warp.frames.push_back(make_frame(function, warp));
    warp.frames.back()->held = std::move(held);
  }
  return warp.frames.back().get();
}

void release_frame(Warp& warp, Frame* frame) {
  auto place =
      std::find_if(warp.frames.begin(), warp.frames.end(), [&](const auto& other) { return other.get() == frame; });
  if (place == warp.frames.end()) return;
  warp.spare_frames.push_back(std::move(*place));
  *place = std::move(warp.frames.back());
  warp.frames.pop_back();
}

void enter_function(Warp& warp, std::size_t split, const Instruction& in, const CallTarget& call,
                    const FunctionCode& callee, LaneMask lanes) {
  Frame& caller = *warp.splits[split].frame;
  std::uint32_t local_base = (caller.local_base + caller.function->local_bytes + 255) / 256 * 256;
  const bool reserved = caller.depth < depth_limit && reserve_local(warp, local_base + callee.local_bytes);
  if (warp.worker->stop == StopReason::judgement_budget) return;
  if (!reserved) {
    int lane = __builtin_ctz(lanes);
    report(warp, FindingKind::stack_overflow, in, lane, 0,
           fmt::format("{}: calls of {} are nested {} deep and need {} bytes of stack", thread_text(warp, lane),
                       callee.name, caller.depth + 1, local_base + callee.local_bytes));
    warp.worker->stop = StopReason::trap;
    return;
  }
  Frame* const taken = take_frame(warp, callee);
  if (taken == nullptr) {
    warp.worker->stop = StopReason::judgement_budget;
    return;
  }
  Frame& frame = *taken;
  std::uint64_t passed = 0;
  for (const CallTarget::Place& argument : call.arguments) passed += argument.bytes;
  warp.worker->unpaid.units +=
      (warp.frames.size() + warp.spare_frames.size()) * 2 + callee.initially_undefined.size() +
      (std::uint64_t{callee.local_bytes} + passed) * static_cast<unsigned>(__builtin_popcount(lanes));
  frame.caller = &caller;
  frame.return_pc = warp.splits[split].pc + 1;
  frame.call = &call;
  frame.depth = caller.depth + 1;
  frame.local_base = local_base;
  frame.inside = lanes;
  begin_frame(warp, frame, lanes);
  for (std::size_t i = 0; i < std::min(call.arguments.size(), callee.parameters.size()); ++i)
    copy_parameter(warp, caller, call.arguments[i], frame, callee.parameters[i], lanes);
  frame.lowest_jump = warp.splits[split].lowest_jump;
  Split inside;
  inside.mask = lanes;
  inside.frame = &frame;
  warp.splits.push_back(inside);
}

}  // namespace

bool reserve_local(Warp& warp, std::uint32_t bytes) {
  if (bytes > local_limit_bytes) return false;
  std::size_t wanted = (std::size_t{bytes} + 63) / 64 * 64 * warp_lanes;
  if (warp.local_data.size() < wanted) {
    if (!warp.held_local.add(2 * (wanted - warp.local_data.size()))) {
      warp.worker->stop = StopReason::judgement_budget;
      return false;
    }
    warp.local_data.resize(wanted);
    warp.local_defined.resize(wanted);
  }
  return true;
}

std::uint64_t bytes_of_frame(const FunctionCode& function) {
  return function.file_bytes + function.initially_undefined.size() * sizeof(LaneMask) +
         function.predicates * 2 * sizeof(LaneMask) + sizeof(Frame);
}

std::unique_ptr<Frame> make_frame(const FunctionCode& function, const Warp& warp) {
  auto frame = std::make_unique<Frame>();
  frame->function = &function;
  constexpr std::size_t alignment = 128;
  frame->storage = std::make_unique<std::byte[]>(function.file_bytes + alignment);
  auto address = reinterpret_cast<std::uintptr_t>(frame->storage.get());
  frame->registers = frame->storage.get() + ((alignment - address % alignment) % alignment);
  frame->undefined.resize(function.initially_undefined.size());
  frame->predicates.resize(function.predicates);
  frame->predicates_undefined.resize(function.predicates);
  for (const ConstantSlot& constant : function.constants)
    fill(*frame, constant.slot, constant.wide, [&](int) { return constant.bits; });
  for (const SpecialSlot& special : function.specials)
    fill(*frame, special.slot, special.wide, [&](int lane) { return special_value(warp, special.value, lane); });
  return frame;
}

void set_block_values(Warp& warp, Frame& frame) {
  for (const SpecialSlot& special : frame.function->specials)
    if (depends_on_block(special.value))
      fill(frame, special.slot, special.wide, [&](int lane) { return special_value(warp, special.value, lane); });
}

void begin_frame(Warp& warp, Frame& frame, LaneMask lanes) {
  const FunctionCode& function = *frame.function;
  const bool racy_only = warp.worker->racy != nullptr;  // nothing comes from a race yet
  if (racy_only)
    std::fill(frame.undefined.begin(), frame.undefined.end(), 0);
  else
    std::copy(function.initially_undefined.begin(), function.initially_undefined.end(), frame.undefined.begin());
  std::fill(frame.predicates_undefined.begin(), frame.predicates_undefined.end(), racy_only ? 0 : all_lanes);
  set_block_values(warp, frame);
  for (const LocalAddressSlot& local : function.local_addresses)
    fill(frame, local.slot, true, [&](int) { return std::uint64_t{frame.local_base} + local.offset; });
  forget_local(warp, frame.local_base, function.local_bytes, lanes, racy_only ? 1 : 0);
}

namespace {

// What the device's library would return: a null pointer, or nothing that a kernel may rely on.
void return_from_external(Warp& warp, const CallTarget& call, LaneMask active, bool defined) {
  for (const CallTarget::Place& place : call.returns) {
    LocalWord zero{};
    if (defined) std::memset(zero.defined, 1, 4);
    if (place.slot != no_slot) continue;
    for (std::uint32_t offset = 0; offset < place.bytes; offset += 4)
      for (LaneMask left = active; left != 0; left &= left - 1)
        set_local_word(warp, warp.frame->local_base + place.offset + offset, __builtin_ctz(left), zero);
  }
}

// A failed assertion ends the launch. What printf prints goes nowhere, and what it returns is undefined: the value
// would tell an emulator from a GPU. Nothing else may be called.
void call_external(Warp& warp, const CallTarget& call, const Instruction& in, LaneMask active) {
  const int lane = __builtin_ctz(active);
  Worker& worker = *warp.worker;
  if (call.external.find("assertfail") != std::string::npos) {
    report(warp, FindingKind::trap, in, lane, 0, fmt::format("{} failed an assertion", thread_text(warp, lane)));
    worker.stop = StopReason::trap;
    return;
  }
  const bool prints = call.external == "vprintf";
  if (prints && ++warp.block->prints <= max_prints_of_a_block) {
    worker.unpaid.units += work_cost::report;
    return return_from_external(warp, call, active, worker.racy != nullptr);
  }
  report(warp, FindingKind::device_call, in, lane, 0,
         prints ? fmt::format("{} prints, and its block has done so {} times before", thread_text(warp, lane),
                              max_prints_of_a_block)
                : fmt::format("{} calls {}, which a judged kernel may not", thread_text(warp, lane), call.external));
  return_from_external(warp, call, active, !prints || worker.racy != nullptr);
}

}  // namespace

void call_function(Warp& warp, std::size_t index, const Instruction& in) {
  const CallTarget& call = warp.frame->function->calls[in.detail];
  const Program& program = *warp.worker->launch->program;
  LaneMask active = warp.splits[index].mask;
  if (!call.external.empty()) {
    call_external(warp, call, in, active);
    ++warp.splits[index].pc;
    return;
  }
  if (call.function >= 0) {
    warp.splits[index].mask = 0;
    enter_function(warp, index, in, call, program.functions[static_cast<std::size_t>(call.function)], active);
    return;
  }
  // Through a pointer: lanes with the same target go together.
  LaneMask undefined = warp.undefined_of(call.pointer) & active;
  if (undefined != 0) report_undefined(warp, FindingKind::uninitialised_branch, in, undefined, "a call");
  warp.splits[index].mask = 0;
  for (LaneMask left = active; left != 0 && warp.worker->stop == StopReason::none;) {
    int lane = __builtin_ctz(left);
    std::uint64_t pointer = warp.u64(call.pointer, lane);
    LaneMask same = 0;
    for (LaneMask rest = left; rest != 0; rest &= rest - 1)
      if (warp.u64(call.pointer, __builtin_ctz(rest)) == pointer) same |= rest & -rest;
    left &= ~same;
    std::uint64_t number = (pointer - window_base(Window::code)) / code_address_step;
    auto target = program.function_index.end();
    if (pointer > window_base(Window::code) && pointer % code_address_step == 0 && number <= 0xffffffffu)
      target = program.function_index.find(static_cast<std::uint32_t>(number - 1));
    if (target == program.function_index.end()) {
      report(warp, FindingKind::trap, in, lane, pointer,
             fmt::format("{} calls 0x{:x}, which is no function", thread_text(warp, lane), pointer));
      warp.worker->stop = StopReason::trap;
      return;
    }
    enter_function(warp, index, in, call, program.functions[static_cast<std::size_t>(target->second)], same);
  }
}

void return_from_function(Warp& warp, std::size_t index) {
  Frame* frame = warp.splits[index].frame;
  LaneMask lanes = warp.splits[index].mask;
  Frame* caller = frame->caller;
  if (caller == nullptr) {  // falling off the end of the kernel
    warp.splits[index].mask = 0;
    warp.alive &= ~lanes;
    return;
  }
  const FunctionCode& callee = *frame->function;
  for (std::size_t i = 0; i < std::min(frame->call->returns.size(), callee.returns.size()); ++i)
    copy_parameter(warp, *frame, callee.returns[i], *caller, frame->call->returns[i], lanes);
  warp.splits[index].frame = caller;
  warp.splits[index].pc = frame->return_pc;
  warp.splits[index].from = frame->return_pc - 1;
  warp.splits[index].lowest_jump = frame->lowest_jump;
  frame->inside &= ~lanes;
  if (frame->inside == 0) release_frame(warp, frame);
}

void leave_frames(Warp& warp, Frame* frame, LaneMask lanes) {
  while (frame != nullptr && frame->caller != nullptr) {
    Frame* caller = frame->caller;
    frame->inside &= ~lanes;
    if (frame->inside == 0) release_frame(warp, frame);
    frame = caller;
  }
}

}  // namespace kw
