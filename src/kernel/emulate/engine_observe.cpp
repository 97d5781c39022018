// What a memory instruction is about to touch, read from the registers before it is executed.

#include "kernel/emulate/access_observer.h"
#include "kernel/emulate/memory_view.h"
#include "kernel/emulate/operations.h"

namespace kw {
namespace {

using Kind = ObservedAccess::Kind;
using Accesses = std::array<ObservedAccess, most_observed_accesses>;

std::size_t split_by_space(Kind kind, PtxSpace space, std::uint32_t bytes, LaneMask active,
                           const std::array<std::uint64_t, warp_lanes>& addresses, bool read_only_path,
                           Accesses& accesses, std::size_t count) {
  auto add = [&](PtxSpace where, LaneMask lanes) -> ObservedAccess& {
    ObservedAccess& access = accesses[count++];
    access.kind = kind;
    access.space = where;
    access.read_only_path = read_only_path;
    access.bytes = bytes;
    access.active = lanes;
    access.addresses = addresses;
    return access;
  };
  if (space != PtxSpace::generic) {
    add(space, active);
    return count;
  }
  for (LaneMask left = active; left != 0 && count < accesses.size();) {
    std::uint64_t window = addresses[static_cast<std::size_t>(__builtin_ctz(left))] >> window_shift;
    LaneMask same = 0;
    for (LaneMask rest = left; rest != 0; rest &= rest - 1)
      if (addresses[static_cast<std::size_t>(__builtin_ctz(rest))] >> window_shift == window) same |= rest & -rest;
    left &= ~same;
    std::uint64_t probe = addresses[static_cast<std::size_t>(__builtin_ctz(same))];
    ObservedAccess& access = add(space_of_address(probe), same);
    if (access.space != PtxSpace::global)
      for (std::uint64_t& address : access.addresses) address &= window_offset_mask;
  }
  return count;
}

// A wmma fragment: the matrix in memory order, an equal part for each lane.
void fragment_addresses(Warp& warp, const MatrixOperation& matrix, LaneMask active, std::uint32_t& bytes,
                        std::array<std::uint64_t, warp_lanes>& addresses) {
  auto rows = static_cast<std::uint64_t>(matrix.fragment == 'b' ? matrix.k : matrix.m);
  auto columns = static_cast<std::uint64_t>(matrix.fragment == 'a' ? matrix.k : matrix.n);
  std::uint64_t inner = matrix.a_column ? rows : columns;
  int lane = __builtin_ctz(active);
  std::uint64_t stride = matrix.stride == no_slot ? inner : warp.u32(matrix.stride, lane);
  auto element = static_cast<std::uint64_t>(bytes_of(matrix.d));
  std::uint64_t each = rows * columns / warp_lanes;
  std::uint64_t base = addresses[static_cast<std::size_t>(lane)];
  for (std::uint64_t l = 0; l < warp_lanes; ++l)
    addresses[l] = base + (l * each / inner * stride + l * each % inner) * element;
  bytes = static_cast<std::uint32_t>(each * element);
}

}  // namespace

std::size_t observed_accesses(Warp& warp, const Instruction& in, LaneMask active, Accesses& accesses) {
  if (active == 0) return 0;
  const FunctionCode& function = *warp.frame->function;
  std::array<std::uint64_t, warp_lanes> addresses;
  auto plain = [&](Kind kind, const MemoryAccess& access, std::uint32_t bytes) {
    addresses_of(warp, in, access, addresses.data());
    return split_by_space(kind, access.space, bytes, active, addresses, access.read_only_path, accesses, 0);
  };
  if (in.run == run_load || in.run == run_store) {
    const MemoryAccess& access = function.memory[in.detail];
    return plain(in.run == run_load ? Kind::load : Kind::store, access,
                 static_cast<std::uint32_t>(access.element_bytes * access.elements));
  }
  if (in.run == run_atomic) {
    const AtomicAccess& atomic = function.atomics[in.detail];
    return plain(atomic.returns ? Kind::atomic : Kind::reduction, atomic.memory, atomic.memory.element_bytes);
  }
  if (in.run == run_copy_async) {
    std::size_t count = plain(Kind::copy_async, function.memory[in.detail], in.extra);
    const MemoryAccess& shared = function.memory[in.detail + 1];
    for (int lane = 0; lane < warp_lanes; ++lane)
      addresses[static_cast<std::size_t>(lane)] = static_cast<std::uint32_t>(
          (shared.wide_base ? warp.u64(in.source[1], lane) : warp.u32(in.source[1], lane)) + in.target);
    return split_by_space(Kind::store, PtxSpace::shared, in.extra, active, addresses, false, accesses, count);
  }
  bool load = in.run == run_ldmatrix || in.run == run_wmma_load;
  if (load || in.run == run_stmatrix || in.run == run_wmma_store) {
    const MatrixOperation& matrix = function.matrices[in.detail];
    addresses_of(warp, in, matrix.memory, addresses.data());
    std::uint32_t bytes = 16;
    LaneMask lanes = active;
    if (in.run == run_ldmatrix || in.run == run_stmatrix) {
      std::size_t rows = 8 * matrix.registers_d.size();
      if (rows < warp_lanes) lanes &= (LaneMask{1} << rows) - 1;
    } else {
      fragment_addresses(warp, matrix, active, bytes, addresses);
    }
    if (lanes == 0) return 0;
    return split_by_space(load ? Kind::matrix_load : Kind::matrix_store, matrix.memory.space, bytes, lanes, addresses,
                          false, accesses, 0);
  }
  return 0;
}

}  // namespace kw
