// Operations from registers to registers. An undefined source lane makes the result's lane undefined; nothing is
// reported here, because undefined values that are computed and thrown away are harmless.

#include <cstring>

#include "kernel/emulate/operations.h"
#include "kernel/emulate/warp.h"

namespace kw {
namespace {

inline void set_undefined(LaneMask& target, LaneMask active, LaneMask undefined) {
  target = (target & ~active) | (undefined & active);
}

inline LaneMask predicate_value(const Warp& warp, std::int32_t index, bool negated) {
  LaneMask value = warp.predicates[index];
  return negated ? ~value : value;
}

template <class Lane>
void copy_lanes(Lane* to, const Lane* from, LaneMask active) {
  if (active == all_lanes) {
    std::memmove(to, from, sizeof(Lane) * warp_lanes);
    return;
  }
  for (LaneMask left = active; left != 0; left &= left - 1) {
    int lane = __builtin_ctz(left);
    to[lane] = from[lane];
  }
}

template <int sources>
void run_lane(Warp& warp, const Instruction& in, LaneMask active) {
  LaneArguments arguments;
  arguments.destination = warp.registers + in.destination;
  LaneMask undefined = 0;
  for (int i = 0; i < sources; ++i) {
    arguments.source[i] = warp.registers + in.source[i];
    undefined |= warp.undefined_of(in.source[i]);
  }
  arguments.active = active;
  in.lane(arguments);
  set_undefined(warp.undefined_of(in.destination), active, undefined);
}

}  // namespace

void run_lane_1(Warp& warp, const Instruction& in, LaneMask active) { run_lane<1>(warp, in, active); }
void run_lane_2(Warp& warp, const Instruction& in, LaneMask active) { run_lane<2>(warp, in, active); }
void run_lane_3(Warp& warp, const Instruction& in, LaneMask active) { run_lane<3>(warp, in, active); }

void run_compare(Warp& warp, const Instruction& in, LaneMask active) {
  LaneArguments arguments;
  arguments.source[0] = warp.registers + in.source[0];
  arguments.source[1] = warp.registers + in.source[1];
  arguments.active = active;
  arguments.predicate_out = &warp.predicates[in.predicate_out];
  LaneMask undefined = warp.undefined_of(in.source[0]) | warp.undefined_of(in.source[1]);
  in.lane(arguments);
  set_undefined(warp.predicates_undefined[in.predicate_out], active, undefined);
}

void run_select(Warp& warp, const Instruction& in, LaneMask active) {
  LaneArguments arguments;
  arguments.destination = warp.registers + in.destination;
  arguments.source[0] = warp.registers + in.source[0];
  arguments.source[1] = warp.registers + in.source[1];
  arguments.active = active;
  LaneMask chosen = predicate_value(warp, in.predicate_in, in.predicate_in_negated);
  arguments.predicate_in = chosen;
  // What is not chosen may be undefined.
  LaneMask undefined = (warp.undefined_of(in.source[0]) & chosen) | (warp.undefined_of(in.source[1]) & ~chosen) |
                       warp.predicates_undefined[in.predicate_in];
  in.lane(arguments);
  set_undefined(warp.undefined_of(in.destination), active, undefined);
}

void run_lane_general(Warp& warp, const Instruction& in, LaneMask active) {
  LaneArguments arguments;
  LaneMask ignored = 0;
  if (in.destination != no_slot) arguments.destination = warp.registers + in.destination;
  LaneMask undefined = 0;
  for (int i = 0; i < in.sources; ++i) {
    arguments.source[i] = warp.registers + in.source[i];
    undefined |= warp.undefined_of(in.source[i]);
  }
  arguments.active = active;
  if (in.predicate_in != no_predicate) {
    arguments.predicate_in = predicate_value(warp, in.predicate_in, in.predicate_in_negated);
    undefined |= warp.predicates_undefined[in.predicate_in];
  }
  arguments.predicate_out = in.predicate_out != no_predicate ? &warp.predicates[in.predicate_out] : &ignored;
  if (in.predicate_other != no_predicate) arguments.predicate_out_other = &warp.predicates[in.predicate_other];
  in.lane(arguments);
  if (in.destination != no_slot) set_undefined(warp.undefined_of(in.destination), active, undefined);
  if (in.predicate_out != no_predicate) set_undefined(warp.predicates_undefined[in.predicate_out], active, undefined);
  if (in.predicate_other != no_predicate)
    set_undefined(warp.predicates_undefined[in.predicate_other], active, undefined);
}

void run_move_32(Warp& warp, const Instruction& in, LaneMask active) {
  copy_lanes(warp.lanes<std::uint32_t>(in.destination), warp.lanes<std::uint32_t>(in.source[0]), active);
  set_undefined(warp.undefined_of(in.destination), active, warp.undefined_of(in.source[0]));
}

void run_move_64(Warp& warp, const Instruction& in, LaneMask active) {
  copy_lanes(warp.lanes<std::uint64_t>(in.destination), warp.lanes<std::uint64_t>(in.source[0]), active);
  set_undefined(warp.undefined_of(in.destination), active, warp.undefined_of(in.source[0]));
}

void run_pack(Warp& warp, const Instruction& in, LaneMask active) {
  const MemoryAccess& parts = warp.frame->function->memory[in.detail];
  std::uint64_t packed[warp_lanes] = {};
  int bits = parts.element_bytes * 8;
  std::uint64_t low = bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  LaneMask undefined = 0;
  for (int k = 0; k < parts.elements; ++k) {
    undefined |= warp.undefined_of(parts.parts[k]);
    if (parts.register_bytes[k] == 8) {
      for (int lane = 0; lane < warp_lanes; ++lane)
        packed[lane] |= (warp.u64(parts.parts[k], lane) & low) << (k * bits);
    } else {
      for (int lane = 0; lane < warp_lanes; ++lane)
        packed[lane] |= (std::uint64_t{warp.u32(parts.parts[k], lane)} & low) << (k * bits);
    }
  }
  for (LaneMask left = active; left != 0; left &= left - 1) {
    int lane = __builtin_ctz(left);
    if (in.extra == 8)
      warp.u64(in.destination, lane) = packed[lane];
    else
      warp.u32(in.destination, lane) = static_cast<std::uint32_t>(packed[lane]);
  }
  set_undefined(warp.undefined_of(in.destination), active, undefined);
}

void run_unpack(Warp& warp, const Instruction& in, LaneMask active) {
  const MemoryAccess& parts = warp.frame->function->memory[in.detail];
  std::uint64_t packed[warp_lanes];
  for (int lane = 0; lane < warp_lanes; ++lane)
    packed[lane] = in.extra == 8 ? warp.u64(in.source[0], lane) : warp.u32(in.source[0], lane);
  LaneMask undefined = warp.undefined_of(in.source[0]);
  int bits = parts.element_bytes * 8;
  std::uint64_t low = bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  for (int k = 0; k < parts.elements; ++k) {
    if (parts.parts[k] == no_slot) continue;
    for (LaneMask left = active; left != 0; left &= left - 1) {
      int lane = __builtin_ctz(left);
      std::uint64_t value = (packed[lane] >> (k * bits)) & low;
      if (parts.register_bytes[k] == 8)
        warp.u64(parts.parts[k], lane) = value;
      else
        warp.u32(parts.parts[k], lane) = static_cast<std::uint32_t>(value);
    }
    set_undefined(warp.undefined_of(parts.parts[k]), active, undefined);
  }
}

void run_predicate_logic(Warp& warp, const Instruction& in, LaneMask active) {
  LaneMask a = 0, b = 0, a_undefined = 0, b_undefined = 0;
  if (in.predicate_in != no_predicate) {
    a = predicate_value(warp, in.predicate_in, in.predicate_in_negated);
    a_undefined = warp.predicates_undefined[in.predicate_in];
  }
  if (in.predicate_other != no_predicate) {
    b = predicate_value(warp, in.predicate_other, in.detail != 0);
    b_undefined = warp.predicates_undefined[in.predicate_other];
  }
  LaneMask value = 0, undefined = a_undefined | b_undefined;
  switch (in.extra) {
    case predicate_move:
      value = a;
      break;
    case predicate_not:
      value = ~a;
      break;
    case predicate_and:
      value = a & b;
      // false and anything is false
      undefined &= ~((~a & ~a_undefined) | (~b & ~b_undefined));
      break;
    case predicate_or:
      value = a | b;
      undefined &= ~((a & ~a_undefined) | (b & ~b_undefined));
      break;
    case predicate_xor:
      value = a ^ b;
      break;
    default:
      value = in.immediate != 0 ? all_lanes : 0;
      break;
  }
  LaneMask& target = warp.predicates[in.predicate_out];
  target = (target & ~active) | (value & active);
  set_undefined(warp.predicates_undefined[in.predicate_out], active, undefined);
}

void run_add_window(Warp& warp, const Instruction& in, LaneMask active) {
  const std::uint64_t* from = warp.lanes<std::uint64_t>(in.source[0]);
  std::uint64_t* to = warp.lanes<std::uint64_t>(in.destination);
  for (int lane = 0; lane < warp_lanes; ++lane)
    to[lane] = ((active >> lane) & 1) != 0 ? from[lane] + static_cast<std::uint64_t>(in.immediate) : to[lane];
  set_undefined(warp.undefined_of(in.destination), active, warp.undefined_of(in.source[0]));
}

void run_isspacep(Warp& warp, const Instruction& in, LaneMask active) {
  LaneMask inside = 0;
  for (int lane = 0; lane < warp_lanes; ++lane)
    inside |= LaneMask{(warp.u64(in.source[0], lane) >> window_shift) == in.extra} << lane;
  LaneMask& target = warp.predicates[in.predicate_out];
  target = (target & ~active) | (inside & active);
  set_undefined(warp.predicates_undefined[in.predicate_out], active, warp.undefined_of(in.source[0]));
}

void run_clock(Warp& warp, const Instruction& in, LaneMask active) {
  std::uint64_t now = warp.worker->clock * 4;  // roughly cycles; deterministic
  for (LaneMask left = active; left != 0; left &= left - 1) {
    int lane = __builtin_ctz(left);
    if (in.extra == 8)
      warp.u64(in.destination, lane) = now;
    else
      warp.u32(in.destination, lane) = static_cast<std::uint32_t>(now);
  }
  set_undefined(warp.undefined_of(in.destination), active, 0);
}

void run_nothing(Warp&, const Instruction&, LaneMask) {}

void run_fence(Warp& warp, const Instruction& in, LaneMask) { fence(warp, in.extra != 0); }

}  // namespace kw
