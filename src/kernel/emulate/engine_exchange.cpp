// Values between the lanes of a warp. The scheduler has brought the named lanes together before any of these runs, so
// `active` is who is really there; a lane that is named but has exited gives an undefined value.

#include <algorithm>
#include <cstring>

#include "kernel/emulate/lane_bits.h"
#include "kernel/emulate/operations.h"
#include "kernel/emulate/warp.h"

namespace kw {
namespace {

void set_mask(LaneMask& target, LaneMask active, LaneMask value) { target = (target & ~active) | (value & active); }

LaneMask predicate_source(const Warp& warp, const Instruction& in) {
  LaneMask value = warp.predicates[in.predicate_in];
  return in.predicate_in_negated ? ~value : value;
}

// Calls `visit(mask, lanes)` for each group of lanes that came with the same member mask; nearly always one.
template <class Visit>
void for_member_masks(Warp& warp, const Instruction& in, LaneMask active, Visit visit) {
  const std::uint32_t* masks = warp.lanes<std::uint32_t>(in.source[3]);
  for (LaneMask left = active; left != 0;) {
    std::uint32_t mask = masks[__builtin_ctz(left)];
    LaneMask same = 0;
    for_lanes(left, [&](int lane) { same |= LaneMask{masks[lane] == mask} << lane; });
    left &= ~same;
    visit(mask, same);
  }
}

void report_undefined_mask(Warp& warp, const Instruction& in, LaneMask active) {
  LaneMask undefined = warp.undefined_of(in.source[3]) & active;
  if (undefined != 0) report_undefined(warp, FindingKind::uninitialised_branch, in, undefined, "the member mask");
}

void note_stray_shuffle(Warp& warp, const Instruction& in, LaneMask active, const std::uint32_t* from) {
  StrayShuffle& stray = warp.worker->stray;
  if (stray.instruction != nullptr) return;
  for_lanes(active, [&](int lane) {
    if (stray.instruction != nullptr || ((active >> from[lane]) & 1) != 0) return;
    stray = {&in, warp.block->index, thread_index(warp, lane), lane, static_cast<int>(from[lane])};
  });
}

}  // namespace

void run_warp_sync(Warp& warp, const Instruction& in, LaneMask active) {
  report_undefined_mask(warp, in, active);
  order_warp(warp);
}

// PTX ISA, shfl.sync: c holds the segment mask in bits 12..8 and the clamp in bits 4..0.
void run_shuffle(Warp& warp, const Instruction& in, LaneMask active) {
  report_undefined_mask(warp, in, active);
  order_warp(warp);
  alignas(64) std::uint32_t values[warp_lanes];
  std::memcpy(values, warp.registers + in.source[0], sizeof values);
  const std::uint32_t* b = warp.lanes<std::uint32_t>(in.source[1]);
  const std::uint32_t* c = warp.lanes<std::uint32_t>(in.source[2]);
  LaneMask value_undefined = warp.undefined_of(in.source[0]);
  LaneMask control_undefined = warp.undefined_of(in.source[1]) | warp.undefined_of(in.source[2]);
  alignas(64) std::uint32_t result[warp_lanes];
  std::uint32_t from[warp_lanes];
  LaneMask in_range = 0;
  for (int lane = 0; lane < warp_lanes; ++lane) {
    std::uint32_t segment = (c[lane] >> 8) & 0x1f;
    std::uint32_t clamp = c[lane] & 0x1f;
    std::uint32_t delta = b[lane] & 0x1f;
    auto self = static_cast<std::uint32_t>(lane);
    std::uint32_t max_lane = (self & segment) | (clamp & ~segment);
    std::uint32_t min_lane = self & segment;
    std::uint32_t source = 0;
    bool valid = false;
    switch (in.extra) {
      case shuffle_up:
        source = self - delta;
        valid = static_cast<std::int32_t>(source) >= static_cast<std::int32_t>(max_lane);
        break;
      case shuffle_down:
        source = self + delta;
        valid = source <= max_lane;
        break;
      case shuffle_butterfly:
        source = self ^ delta;
        valid = source <= max_lane;
        break;
      default:
        source = min_lane | (delta & ~segment);
        valid = source <= max_lane;
        break;
    }
    from[lane] = valid ? source & 31 : self;
    result[lane] = values[from[lane]];
    in_range |= LaneMask{valid} << lane;
  }
  LaneMask undefined = control_undefined;
  LaneMask unreliable = value_undefined;
  if (warp.worker->racy == nullptr) unreliable |= ~active;  // lanes whose value is not one
  if (unreliable != 0)
    for (int lane = 0; lane < warp_lanes; ++lane) undefined |= ((unreliable >> from[lane]) & 1) << lane;
  if (active != all_lanes && warp.worker->racy == nullptr) note_stray_shuffle(warp, in, active, from);
  if (active == all_lanes) {
    std::memcpy(warp.registers + in.destination, result, sizeof result);
  } else {
    for_lanes(active, [&](int lane) { warp.u32(in.destination, lane) = result[lane]; });
  }
  set_mask(warp.undefined_of(in.destination), active, undefined);
  if (in.predicate_out != no_predicate) {
    set_mask(warp.predicates[in.predicate_out], active, in_range);
    set_mask(warp.predicates_undefined[in.predicate_out], active, control_undefined);
  }
}

void run_vote(Warp& warp, const Instruction& in, LaneMask active) {
  report_undefined_mask(warp, in, active);
  order_warp(warp);
  LaneMask value = predicate_source(warp, in);
  LaneMask value_undefined = warp.predicates_undefined[in.predicate_in];
  for_member_masks(warp, in, active, [&](std::uint32_t mask, LaneMask lanes) {
    LaneMask voters = mask & active;
    LaneMask yes = value & voters;
    LaneMask undefined = (value_undefined & voters) != 0 ? lanes : 0;
    if (in.extra == vote_ballot) {
      for_lanes(lanes, [&](int lane) { warp.u32(in.destination, lane) = yes; });
      set_mask(warp.undefined_of(in.destination), lanes, undefined);
      return;
    }
    bool result = in.extra == vote_all ? yes == voters : in.extra == vote_any ? yes != 0 : yes == voters || yes == 0;
    set_mask(warp.predicates[in.predicate_out], lanes, result ? all_lanes : 0);
    set_mask(warp.predicates_undefined[in.predicate_out], lanes, undefined);
  });
}

// match.sync: visit(values of all lanes, members that are there, lanes that asked, which results are undefined, mask).
template <class Visit>
void for_matched(Warp& warp, const Instruction& in, LaneMask active, const Visit& visit) {
  report_undefined_mask(warp, in, active);
  order_warp(warp);
  std::uint64_t values[warp_lanes];
  for (int lane = 0; lane < warp_lanes; ++lane)
    values[lane] = in.extra == 8 ? warp.u64(in.source[0], lane) : warp.u32(in.source[0], lane);
  LaneMask value_undefined = warp.undefined_of(in.source[0]);
  for_member_masks(warp, in, active, [&](std::uint32_t mask, LaneMask lanes) {
    LaneMask members = mask & active;
    visit(values, members, lanes, (value_undefined & members) != 0 ? lanes : 0, mask);
  });
}

void run_match_any(Warp& warp, const Instruction& in, LaneMask active) {
  for_matched(warp, in, active,
              [&](const std::uint64_t* values, LaneMask members, LaneMask lanes, LaneMask undefined, std::uint32_t) {
                for_lanes(lanes, [&](int lane) {
                  LaneMask equal = 0;
                  for_lanes(members, [&](int other) { equal |= LaneMask{values[other] == values[lane]} << other; });
                  warp.u32(in.destination, lane) = equal;
                });
                set_mask(warp.undefined_of(in.destination), lanes, undefined);
              });
}

void run_match_all(Warp& warp, const Instruction& in, LaneMask active) {
  for_matched(
      warp, in, active,
      [&](const std::uint64_t* values, LaneMask members, LaneMask lanes, LaneMask undefined, std::uint32_t mask) {
        bool equal = true;
        for_lanes(members, [&](int other) { equal &= values[other] == values[__builtin_ctz(members)]; });
        for_lanes(lanes, [&](int lane) { warp.u32(in.destination, lane) = equal ? mask : 0; });
        set_mask(warp.undefined_of(in.destination), lanes, undefined);
        if (in.predicate_out != no_predicate) {
          set_mask(warp.predicates[in.predicate_out], lanes, equal ? all_lanes : 0);
          set_mask(warp.predicates_undefined[in.predicate_out], lanes, undefined);
        }
      });
}

void run_redux(Warp& warp, const Instruction& in, LaneMask active) {
  report_undefined_mask(warp, in, active);
  order_warp(warp);
  std::uint32_t values[warp_lanes];
  std::memcpy(values, warp.registers + in.source[0], sizeof values);
  LaneMask value_undefined = warp.undefined_of(in.source[0]);
  for_member_masks(warp, in, active, [&](std::uint32_t mask, LaneMask lanes) {
    LaneMask members = mask & active;
    if (members == 0) members = lanes;
    std::uint32_t total = values[__builtin_ctz(members)];
    for_lanes(members & (members - 1), [&](int lane) {
      std::uint32_t value = values[lane];
      auto as_signed = [](std::uint32_t bits) { return static_cast<std::int32_t>(bits); };
      switch (in.extra) {
        case redux_add:
          total += value;
          break;
        case redux_min_s:
          total = as_signed(value) < as_signed(total) ? value : total;
          break;
        case redux_max_s:
          total = as_signed(value) > as_signed(total) ? value : total;
          break;
        case redux_min_u:
          total = std::min(total, value);
          break;
        case redux_max_u:
          total = std::max(total, value);
          break;
        case redux_and:
          total &= value;
          break;
        case redux_or:
          total |= value;
          break;
        default:
          total ^= value;
          break;
      }
    });
    for_lanes(lanes, [&](int lane) { warp.u32(in.destination, lane) = total; });
    set_mask(warp.undefined_of(in.destination), lanes, (value_undefined & members) != 0 ? lanes : 0);
  });
}

void run_activemask(Warp& warp, const Instruction& in, LaneMask active) {
  for_lanes(active, [&](int lane) { warp.u32(in.destination, lane) = active; });
  set_mask(warp.undefined_of(in.destination), active, 0);
}

void run_elect(Warp& warp, const Instruction& in, LaneMask active) {
  report_undefined_mask(warp, in, active);
  order_warp(warp);
  for_member_masks(warp, in, active, [&](std::uint32_t mask, LaneMask lanes) {
    LaneMask members = (mask & active) != 0 ? mask & active : lanes;
    int leader = __builtin_ctz(members);
    if (in.destination != no_slot) {
      for_lanes(lanes, [&](int lane) { warp.u32(in.destination, lane) = static_cast<std::uint32_t>(leader); });
      set_mask(warp.undefined_of(in.destination), lanes, 0);
    }
    set_mask(warp.predicates[in.predicate_out], lanes, 1u << leader);
    set_mask(warp.predicates_undefined[in.predicate_out], lanes, 0);
  });
}

}  // namespace kw
