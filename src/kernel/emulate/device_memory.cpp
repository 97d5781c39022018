#include "kernel/emulate/device_memory.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "kernel/emulate/work_cost.h"

namespace kw {
namespace {

constexpr std::uint64_t address_limit = std::uint64_t{1} << 47;

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

Result<void> DeviceMemory::insert(std::uint64_t base, std::uint64_t bytes, std::string name, MemoryAccessRight right,
                                  Mapped mapped) {
  if (allocations_.size() >= limits_.allocations)
    return Error{
        fmt::format("more than {} device allocations", limits_.allocations), "Allocate scratch memory once.", {}};
  // Offsets within an allocation are 32-bit numbers in the interpreter.
  if (bytes > limits_.total_bytes || live_bytes_ + bytes > limits_.total_bytes || bytes > 0xffff0000u)
    return Error{fmt::format("{} of {} bytes does not fit into the emulated device's {} bytes", name, bytes,
                             limits_.total_bytes),
                 "Use smaller sizes for the emulator.",
                 {}};
  // The host's memory has a shadow byte for each byte, and is touched at once; a mapping only has a list of its pages.
  const bool lazy = mapped.data != nullptr;
  const std::uint64_t host_bytes = lazy ? bytes / LazyPages::page_bytes / 4 : 2 * bytes;
  HeldMemory held(budget_);
  KW_TRY_VOID(
      charge(WorkKind::allocations, 1, work_cost::allocation + allocations_.size() + new_byte_units(host_bytes)));
  if (!held.add(host_bytes + sizeof(Allocation))) return budget_->exceeded_error();
  auto allocation = std::make_unique<Allocation>();
  allocation->held = std::move(held);
  allocation->name = std::move(name);
  allocation->base = base;
  allocation->bytes = static_cast<std::uint32_t>(bytes);
  allocation->right = right;
  allocation->pristine = !lazy;  // a mapping has other content
  if (lazy) {
    allocation->data = std::move(mapped.data);
    allocation->defined = std::move(mapped.defined);
    if (mapped.shared != nullptr)
      allocation->lazy = std::make_unique<LazyPages>(std::move(mapped.shared), budget_);
    else
      allocation->lazy = std::make_unique<LazyPages>(bytes, allocation->data.get(), allocation->defined.get(),
                                                     std::move(mapped.source), budget_);
    allocation->fully_defined = allocation->defined == nullptr;
  } else {
    allocation->data = HostMemory(new std::byte[bytes + host_padding_bytes]());
    allocation->defined = HostMemory(new std::byte[bytes + host_padding_bytes]());
    std::memset(allocation->data.get(), 0xff, bytes);
  }
  allocation->index = static_cast<int>(allocations_.size());
  live_bytes_ += bytes;
  by_address_.insert(
      std::upper_bound(by_address_.begin(), by_address_.end(), base,
                       [](std::uint64_t address, const Allocation* other) { return address < other->base; }),
      allocation.get());
  allocations_.push_back(std::move(allocation));
  return {};
}

Result<std::uint64_t> DeviceMemory::allocate(std::uint64_t bytes, std::string name, MemoryAccessRight right) {
  std::uint64_t base = next_address_;
  KW_TRY_VOID(insert(base, bytes, std::move(name), right));
  next_address_ = round_up(base + bytes + red_zone_bytes, alignment_bytes);
  return base;
}

Result<std::uint64_t> DeviceMemory::insert_mapped(std::uint64_t bytes, std::string name, MemoryAccessRight right,
                                                  Mapped mapped) {
  const std::uint64_t base = next_address_;
  KW_TRY_VOID(insert(base, bytes, std::move(name), right, std::move(mapped)));
  next_address_ = round_up(base + bytes + red_zone_bytes, alignment_bytes);
  return base;
}

Result<std::uint64_t> DeviceMemory::allocate_tiled(std::uint64_t bytes, std::string name, MemoryAccessRight right,
                                                   std::string_view tile) {
  KW_TRY(HostMemory data, map_lazily(bytes + host_padding_bytes, tile));
  return insert_mapped(bytes, std::move(name), right, {std::move(data), {}, nullptr, nullptr});
}

Result<std::uint64_t> DeviceMemory::allocate_untouched(std::uint64_t bytes, std::string name, MemoryAccessRight right) {
  return allocate_tiled(bytes, std::move(name), right, {});
}

Result<std::uint64_t> DeviceMemory::allocate_drawn(std::uint64_t bytes, std::string name, MemoryAccessRight right,
                                                   std::shared_ptr<const PageSource> source) {
  KW_TRY(HostMemory data, map_lazily(bytes + host_padding_bytes, {}));
  return insert_mapped(bytes, std::move(name), right, {std::move(data), {}, std::move(source), nullptr});
}

Result<std::uint64_t> DeviceMemory::allocate_shared(std::string name, std::shared_ptr<SharedPages> pages) {
  HostMemory data(pages->data(), HostMemoryRelease{0, true});
  const std::uint64_t bytes = pages->bytes();
  return insert_mapped(bytes, std::move(name), MemoryAccessRight::read_only,
                       {std::move(data), {}, nullptr, std::move(pages)});
}

Result<void> DeviceMemory::part(Allocation& allocation, WorkBudget* budget) {
  const std::shared_ptr<const PageSource> source = allocation.lazy->shared()->source();
  KW_TRY(allocation.data, map_lazily(allocation.bytes + host_padding_bytes, {}));
  allocation.lazy = std::make_unique<LazyPages>(allocation.bytes, allocation.data.get(), nullptr, source, budget);
  return {};
}

Result<std::uint64_t> DeviceMemory::allocate_blank(std::uint64_t bytes, std::string name, MemoryAccessRight right) {
  KW_TRY(HostMemory data, map_lazily(bytes + host_padding_bytes, {}));
  KW_TRY(HostMemory defined, map_lazily(bytes + host_padding_bytes, {}));
  return insert_mapped(bytes, std::move(name), right, {std::move(data), std::move(defined), nullptr, nullptr});
}

void DeviceMemory::discard_writes() {
  for (const auto& allocation : allocations_) {
    if (allocation->lazy == nullptr) continue;
    allocation->lazy->discard();
    if (allocation->defined != nullptr) allocation->fully_defined = false;
  }
  for (const Kept& kept : kept_) {
    std::copy(kept.data.begin(), kept.data.end(), kept.allocation->data.get());
    std::copy(kept.defined.begin(), kept.defined.end(), kept.allocation->defined.get());
    kept.allocation->fully_defined = false;
  }
}

Result<void> DeviceMemory::keep_writes() {
  kept_.clear();
  for (const auto& allocation : allocations_) {
    if (allocation->freed) continue;
    if (allocation->lazy != nullptr) {
      allocation->lazy->keep();
    } else if (allocation->right == MemoryAccessRight::read_write) {
      KW_TRY_VOID(charge(WorkKind::memory_bytes, allocation->bytes, 2 * byte_units(allocation->bytes)));
      const std::byte* data = allocation->data.get();
      const std::byte* defined = allocation->defined.get();
      kept_.push_back({allocation.get(), {data, data + allocation->bytes}, {defined, defined + allocation->bytes}});
    }
  }
  return {};
}

Result<void> DeviceMemory::touch(Allocation& allocation, std::uint64_t offset, std::uint64_t bytes, bool write) const {
  if (allocation.lazy == nullptr || bytes == 0) return {};
  if (write && allocation.lazy->shared() != nullptr) KW_TRY_VOID(part(allocation, budget_));
  const std::uint64_t fresh = allocation.lazy->touch(offset, bytes, write);
  KW_TRY_VOID(charge(WorkKind::memory_bytes, 0, fresh * work_cost::new_page));
  if (write && !allocation.lazy->hold(fresh)) return budget_->exceeded_error();
  return {};
}

Result<void> DeviceMemory::charge(WorkKind kind, std::uint64_t amount, std::uint64_t units) const {
  if (budget_ != nullptr && !budget_->charge(kind, amount, units)) return budget_->exceeded_error();
  return {};
}

Result<void> DeviceMemory::map(std::uint64_t address, std::uint64_t bytes, std::string name, MemoryAccessRight right) {
  KW_CHECK(address < address_limit && bytes < address_limit);
  for (const Allocation* other : by_address_) {
    if (address < other->base + other->bytes + red_zone_bytes && other->base < address + bytes + red_zone_bytes)
      return Error{fmt::format("{} would overlap {}", name, other->name), "", {}};
  }
  return insert(address, bytes, std::move(name), right);
}

Result<void> DeviceMemory::free(std::uint64_t address) {
  Allocation* allocation = find(address);
  if (allocation == nullptr || allocation->base != address)
    return Error{fmt::format("0x{:x} is not the start of an allocation", address),
                 "Free each pointer once, as it was allocated.",
                 {}};
  // The range stays reserved, so that a later use can be named.
  allocation->freed = true;
  allocation->data.reset();
  allocation->defined.reset();
  allocation->lazy.reset();
  allocation->held.release();
  live_bytes_ -= allocation->bytes;
  return {};
}

Result<Allocation*> DeviceMemory::range(std::uint64_t address, std::uint64_t bytes) const {
  auto* allocation = const_cast<Allocation*>(find(address));
  if (allocation == nullptr || !allocation->holds(address, bytes))
    return Error{fmt::format("0x{:x} .. +{} is not inside one allocation", address, bytes), "", {}};
  return allocation;
}

Result<void> DeviceMemory::write(std::uint64_t address, std::string_view bytes) {
  if (bytes.empty()) return {};
  KW_TRY(Allocation * allocation, range(address, bytes.size()));
  KW_TRY_VOID(charge(WorkKind::memory_bytes, bytes.size(), 2 * byte_units(bytes.size())));
  std::uint64_t offset = address - allocation->base;
  KW_TRY_VOID(touch(*allocation, offset, bytes.size(), true));
  std::memcpy(allocation->data.get() + offset, bytes.data(), bytes.size());
  if (allocation->defined != nullptr) std::memset(allocation->defined.get() + offset, 1, bytes.size());
  if (bytes.size() == allocation->bytes) allocation->fully_defined = true;
  allocation->pristine = false;
  return {};
}

Result<void> DeviceMemory::fill(std::uint64_t address, std::uint8_t value, std::uint64_t bytes) {
  if (bytes == 0) return {};
  KW_TRY(Allocation * allocation, range(address, bytes));
  KW_TRY_VOID(charge(WorkKind::memory_bytes, bytes, 2 * byte_units(bytes)));
  std::uint64_t offset = address - allocation->base;
  KW_TRY_VOID(touch(*allocation, offset, bytes, true));
  allocation->pristine = false;
  std::memset(allocation->data.get() + offset, value, bytes);
  if (allocation->defined != nullptr) std::memset(allocation->defined.get() + offset, 1, bytes);
  return {};
}

Result<void> DeviceMemory::poison(std::uint64_t address, std::uint64_t bytes) {
  if (bytes == 0) return {};
  KW_TRY(Allocation * allocation, range(address, bytes));
  KW_TRY_VOID(charge(WorkKind::memory_bytes, bytes, 2 * byte_units(bytes)));
  std::uint64_t offset = address - allocation->base;
  KW_TRY_VOID(touch(*allocation, offset, bytes, true));
  std::memset(allocation->data.get() + offset, 0xff, bytes);
  if (allocation->defined == nullptr) return {};
  std::memset(allocation->defined.get() + offset, 0, bytes);
  allocation->fully_defined = false;
  allocation->pristine = bytes == allocation->bytes;
  allocation->undefined_store_line = 0;
  return {};
}

Result<void> DeviceMemory::copy(std::uint64_t target, std::uint64_t source, std::uint64_t bytes) {
  if (bytes == 0) return {};
  KW_TRY(Allocation * to, range(target, bytes));
  KW_TRY(Allocation * from, range(source, bytes));
  KW_TRY_VOID(charge(WorkKind::memory_bytes, bytes, 2 * byte_units(bytes)));
  // In this order: the two may be the same, and what is written may first have to be parted from what others see.
  KW_TRY_VOID(touch(*to, target - to->base, bytes, true));
  KW_TRY_VOID(touch(*from, source - from->base, bytes, false));
  std::memmove(to->data.get() + (target - to->base), from->data.get() + (source - from->base), bytes);
  if (to->defined == nullptr) return {};
  std::byte* const defined = to->defined.get() + (target - to->base);
  if (from->defined == nullptr)
    std::memset(defined, 1, bytes);
  else
    std::memmove(defined, from->defined.get() + (source - from->base), bytes);
  to->fully_defined = false;
  to->pristine = false;
  return {};
}

Result<std::string> DeviceMemory::read(std::uint64_t address, std::uint64_t bytes) const {
  if (bytes == 0) return std::string();
  KW_TRY(Allocation * allocation, range(address, bytes));
  KW_TRY_VOID(touch(*allocation, address - allocation->base, bytes, false));
  KW_TRY_VOID(charge(WorkKind::memory_bytes, bytes, new_byte_units(bytes)));
  return std::string(reinterpret_cast<const char*>(allocation->data.get()) + (address - allocation->base), bytes);
}

Result<UndefinedBytes> DeviceMemory::undefined(std::uint64_t address, std::uint64_t bytes) const {
  UndefinedBytes result;
  if (bytes == 0) return result;
  KW_TRY(const Allocation* allocation, range(address, bytes));
  if (allocation->fully_defined) return result;
  KW_TRY_VOID(charge(WorkKind::memory_bytes, bytes, bytes));
  const std::byte* defined = allocation->defined.get() + (address - allocation->base);
  for (std::uint64_t i = 0; i < bytes; ++i) {
    if (defined[i] != std::byte{0}) continue;
    if (result.count++ == 0) result.first_offset = i;
  }
  if (result.count > 0) result.line = allocation->undefined_store_line;
  return result;
}

const Allocation* DeviceMemory::find(std::uint64_t address) const {
  auto after = std::upper_bound(by_address_.begin(), by_address_.end(), address,
                                [](std::uint64_t wanted, const Allocation* other) { return wanted < other->base; });
  if (after == by_address_.begin()) return nullptr;
  const Allocation* allocation = *std::prev(after);
  return !allocation->freed && address - allocation->base < allocation->bytes ? allocation : nullptr;
}

Allocation* DeviceMemory::find(std::uint64_t address) {
  return const_cast<Allocation*>(static_cast<const DeviceMemory*>(this)->find(address));
}

const Allocation* DeviceMemory::nearest(std::uint64_t address) const {
  const Allocation* best = nullptr;
  std::uint64_t best_distance = std::uint64_t{1} << 32;
  for (const Allocation* allocation : by_address_) {
    std::uint64_t end = allocation->base + allocation->bytes;
    std::uint64_t distance = address < allocation->base ? allocation->base - address
                             : address >= end           ? address - end
                                                        : 0;
    if (distance < best_distance) {
      best = allocation;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace kw
