#include "kernel/emulate/memory_snapshot.h"

#include <algorithm>
#include <cstring>

namespace kw {

std::uint64_t MemorySnapshot::bytes_of(const DeviceMemory& memory) {
  std::uint64_t bytes = 0;
  for (const auto& allocation : memory.allocations())
    if (!allocation->freed && !allocation->pristine && allocation->lazy == nullptr &&
        allocation->right != MemoryAccessRight::read_only)
      bytes += 2 * std::uint64_t{allocation->bytes};
  return bytes;
}

MemorySnapshot::MemorySnapshot(DeviceMemory& memory) {
  for (const auto& allocation : memory.allocations()) {
    if (allocation->freed || allocation->right == MemoryAccessRight::read_only || allocation->lazy != nullptr) continue;
    Copy copy{
        allocation.get(), {}, {}, allocation->pristine, allocation->fully_defined, allocation->undefined_store_line};
    if (!allocation->pristine) {
      copy.data.assign(allocation->data.get(), allocation->data.get() + allocation->bytes);
      if (allocation->defined != nullptr)
        copy.defined.assign(allocation->defined.get(), allocation->defined.get() + allocation->bytes);
    }
    copies_.push_back(std::move(copy));
  }
}

void MemorySnapshot::restore() const {
  for (const Copy& copy : copies_) {
    Allocation& allocation = *copy.allocation;
    if (copy.pristine) {
      std::memset(allocation.data.get(), 0xff, allocation.bytes);
      if (allocation.defined != nullptr) std::memset(allocation.defined.get(), 0, allocation.bytes);
    } else {
      std::copy(copy.data.begin(), copy.data.end(), allocation.data.get());
      std::copy(copy.defined.begin(), copy.defined.end(), allocation.defined.get());
    }
    allocation.pristine = copy.pristine;
    allocation.fully_defined = copy.fully_defined;
    allocation.undefined_store_line = copy.undefined_store_line;
  }
}

}  // namespace kw
