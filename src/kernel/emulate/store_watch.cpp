#include "kernel/emulate/store_watch.h"

#include "kernel/emulate/warp.h"

namespace kw {

LaneMask StoreWatch::executes(Warp& warp, const Instruction& instruction, LaneMask, LaneMask active) {
  if (active == 0) return active;
  std::array<ObservedAccess, most_observed_accesses> accesses;
  const std::size_t count = observed_accesses(warp, instruction, active, accesses);
  for (std::size_t i = 0; i < count; ++i) {
    const ObservedAccess& access = accesses[i];
    using Kind = ObservedAccess::Kind;
    if (access.space != PtxSpace::global || access.kind == Kind::load || access.kind == Kind::matrix_load ||
        access.kind == Kind::copy_async)
      continue;
    for (LaneMask left = access.active; left != 0; left &= left - 1) {
      const std::uint64_t start = access.addresses[static_cast<std::size_t>(__builtin_ctz(left))];
      if (start < address_ + bytes_ && address_ < start + access.bytes) line_ = origin_of(warp, instruction).where.line;
    }
  }
  return active;
}

}  // namespace kw
