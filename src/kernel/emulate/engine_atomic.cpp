// Atomic operations, lane after lane. They order nothing by themselves, and do not race with each other.

#include <bit>
#include <cstring>
#include <vector>

#include "kernel/emulate/async_copy.h"
#include "kernel/emulate/half_float.h"
#include "kernel/emulate/memory_view.h"
#include "kernel/emulate/operations.h"

namespace kw {
namespace {

std::uint64_t low_bits(int bytes) { return bytes == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (bytes * 8)) - 1; }

std::uint64_t add(PtxType type, std::uint64_t a, std::uint64_t b) {
  auto half = [](std::uint64_t x, std::uint64_t y) {
    return half_from_float(float_from_half(static_cast<std::uint16_t>(x)) +
                           float_from_half(static_cast<std::uint16_t>(y)));
  };
  auto bfloat = [](std::uint64_t x, std::uint64_t y) {
    return bfloat16_from_float(float_from_bfloat16(static_cast<std::uint16_t>(x)) +
                               float_from_bfloat16(static_cast<std::uint16_t>(y)));
  };
  switch (type) {
    case PtxType::f32:
      return std::bit_cast<std::uint32_t>(std::bit_cast<float>(static_cast<std::uint32_t>(a)) +
                                          std::bit_cast<float>(static_cast<std::uint32_t>(b)));
    case PtxType::f64:
      return std::bit_cast<std::uint64_t>(std::bit_cast<double>(a) + std::bit_cast<double>(b));
    // Exact in float, then rounded once: the same as the hardware's single rounding.
    case PtxType::f16:
      return half(a, b);
    case PtxType::bf16:
      return bfloat(a, b);
    case PtxType::f16x2:
      return half(a, b) | (std::uint64_t{half(a >> 16, b >> 16)} << 16);
    case PtxType::bf16x2:
      return bfloat(a, b) | (std::uint64_t{bfloat(a >> 16, b >> 16)} << 16);
    default:
      return a + b;
  }
}

bool less(PtxType type, std::uint64_t a, std::uint64_t b) {
  switch (type) {
    case PtxType::s32:
      return static_cast<std::int32_t>(a) < static_cast<std::int32_t>(b);
    case PtxType::s64:
      return static_cast<std::int64_t>(a) < static_cast<std::int64_t>(b);
    default:
      return a < b;
  }
}

std::uint64_t combine(const AtomicAccess& atomic, std::uint64_t old, std::uint64_t b, std::uint64_t c) {
  switch (atomic.operation) {
    case AtomicOperation::add:
      return add(atomic.type, old, b);
    case AtomicOperation::min:
      return less(atomic.type, b, old) ? b : old;
    case AtomicOperation::max:
      return less(atomic.type, old, b) ? b : old;
    case AtomicOperation::exch:
      return b;
    case AtomicOperation::cas:
      return old == b ? c : old;
    case AtomicOperation::bit_and:
      return old & b;
    case AtomicOperation::bit_or:
      return old | b;
    case AtomicOperation::bit_xor:
      return old ^ b;
    case AtomicOperation::inc:
      return old >= b ? 0 : old + 1;
    case AtomicOperation::dec:
      return old == 0 || old > b ? b : old - 1;
  }
  return old;
}

struct CheckedWord {
  MemoryView view;
  int lane = 0;
  std::uint32_t offset = 0;
  bool equal = false;
};

}  // namespace

void run_atomic(Warp& warp, const Instruction& in, LaneMask active) {
  const AtomicAccess& atomic = warp.frame->function->atomics[in.detail];
  int bytes = atomic.memory.element_bytes;
  if (atomic.memory.acquire) acquire(warp, true);
  if (atomic.memory.release) release(warp, true);
  LaneMask undefined = warp.undefined_of(in.source[0]) & active;
  if (undefined != 0)
    report_undefined(warp, FindingKind::uninitialised_address, in, undefined, "the address of an atomic operation");
  std::uint64_t addresses[warp_lanes];
  addresses_of(warp, in, atomic.memory, addresses);
  auto value_of = [&](Slot slot, int lane) {
    return (bytes == 8 ? warp.u64(slot, lane) : std::uint64_t{warp.u32(slot, lane)}) & low_bits(bytes);
  };
  LaneMask operand_undefined = warp.undefined_of(in.source[1]);
  if (in.sources == 3) operand_undefined |= warp.undefined_of(in.source[2]);
  LaneMask result_undefined = 0;
  std::uint64_t results[warp_lanes] = {};
  const bool looking = warp.worker->racy != nullptr;
  std::vector<CheckedWord> checked;
  for (LaneMask left = active; left != 0; left &= left - 1) {
    int lane = __builtin_ctz(left);
    MemoryView view;
    std::uint32_t offset = 0;
    if (!resolve_lane(warp, in, atomic.memory.space, addresses[lane], lane, static_cast<std::uint32_t>(bytes),
                      AccessKind::atomic, view, offset))
      continue;
    if (warp.block->copies_async && touches_flight(view, offset, static_cast<std::uint32_t>(bytes)))
      report_flight(warp, in, lane, offset, static_cast<std::uint32_t>(bytes), AccessKind::atomic);
    if (view.races != nullptr)
      race_access(warp, in, view, lane, offset, static_cast<std::uint32_t>(bytes), AccessKind::atomic, false);
    std::uint64_t old = 0;
    std::memcpy(&old, view.data + offset, static_cast<std::size_t>(bytes));
    bool unknown = ((operand_undefined >> lane) & 1) != 0;
    const bool equal = atomic.operation == AtomicOperation::cas && old == value_of(in.source[1], lane);
    if (looking) {
      // A swap takes place only where the guess was right, and then what was computed from it is right too.
      if (atomic.operation == AtomicOperation::cas)
        unknown = equal && ((warp.undefined_of(in.source[2]) & ~warp.undefined_of(in.source[1])) >> lane & 1) != 0;
      if (unknown && !view.shared) use_racy_value(warp, in, LaneMask{1} << lane, RacyUse::other);
      if (view.races != nullptr) checked.push_back({view, lane, offset, equal});
    }
    bool old_undefined = false;
    if (view.defined != nullptr)
      for (int i = 0; i < bytes; ++i)
        old_undefined |= view.defined[offset + static_cast<std::uint32_t>(i)] != std::byte{1};
    // An exchange gives the memory a value whatever was there.
    bool still_undefined = unknown || (old_undefined && atomic.operation != AtomicOperation::exch);
    std::uint64_t c = in.sources == 3 ? value_of(in.source[2], lane) : 0;
    std::uint64_t next = combine(atomic, old, value_of(in.source[1], lane), c);
    std::memcpy(view.data + offset, &next, static_cast<std::size_t>(bytes));
    if (view.defined != nullptr)
      std::memset(view.defined + offset, still_undefined ? 0 : 1, static_cast<std::size_t>(bytes));
    if (still_undefined && view.allocation != nullptr && view.allocation->undefined_store_line == 0)
      view.allocation->undefined_store_line = origin_of(warp, in).where.line;
    results[lane] = old;
    result_undefined |= LaneMask{old_undefined} << lane;
  }
  for (const CheckedWord& word : checked)
    check_guess(warp, word.view, word.lane, word.offset, static_cast<std::uint32_t>(bytes), word.equal);
  if (!atomic.returns) return;
  for (LaneMask left = active; left != 0; left &= left - 1) {
    int lane = __builtin_ctz(left);
    if (bytes == 8)
      warp.u64(in.destination, lane) = results[lane];
    else
      warp.u32(in.destination, lane) = static_cast<std::uint32_t>(results[lane]);
  }
  LaneMask& mark = warp.undefined_of(in.destination);
  mark = (mark & ~active) | result_undefined;
}

}  // namespace kw
