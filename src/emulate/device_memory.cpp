#include "emulate/device_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "emulate/work_cost.h"

namespace kw {
namespace {

constexpr std::size_t host_padding_bytes = 64;  // vector loads may look behind the end
constexpr std::uint64_t address_limit = std::uint64_t{1} << 47;

constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint64_t tile_bytes_wanted = 1 << 20;  // smaller tiles are repeated: each takes a mapping of its own

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) { return (value + unit - 1) / unit * unit; }

// A file in memory that holds the tile a whole number of times; its pages are shared by all places that show it.
struct TileFile {
  int descriptor = -1;
  std::uint64_t bytes = 0;
  ~TileFile() {
    if (descriptor >= 0) close(descriptor);
  }
};

bool fill_tile_file(TileFile& file, std::string_view tile) {
  std::string content(tile);
  while (content.size() < tile_bytes_wanted) content += tile;
  content.resize(content.size() / page_bytes * page_bytes);  // whole pages; elements stay aligned
  file.bytes = content.size();
  file.descriptor = memfd_create("kernelwright tile", MFD_CLOEXEC);
  if (file.descriptor < 0) return false;
  for (std::size_t done = 0; done < content.size();) {
    ssize_t written = ::write(file.descriptor, content.data() + done, content.size() - done);
    if (written <= 0) return false;
    done += static_cast<std::size_t>(written);
  }
  return true;
}

// Private mappings: a kernel that writes gets its own copy of the page.
Result<HostMemory> map_repeated(std::uint64_t bytes, std::string_view tile) {
  std::uint64_t mapped = round_up(bytes, page_bytes);
  void* start = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) return Error{fmt::format("cannot reserve {} bytes of address space", bytes), "", {}};
  HostMemory memory(static_cast<std::byte*>(start), {mapped});
  // A huge page for each of some scattered stores would cost more than everything else.
  madvise(start, mapped, MADV_NOHUGEPAGE);
  if (tile.empty()) return memory;
  TileFile file;
  if (!fill_tile_file(file, tile)) return Error{"cannot make a file in memory for input contents", "", {}};
  for (std::uint64_t offset = 0; offset < mapped; offset += file.bytes) {
    std::uint64_t part = std::min(file.bytes, mapped - offset);
    if (mmap(memory.get() + offset, part, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE,
             file.descriptor, 0) == MAP_FAILED)
      return Error{fmt::format("cannot map input contents for {} bytes", bytes), "", {}};
  }
  return memory;
}

}  // namespace

void HostMemoryRelease::operator()(std::byte* memory) const {
  if (mapped_bytes != 0)
    munmap(memory, mapped_bytes);
  else
    delete[] memory;
}

LazyPages::LazyPages(std::uint64_t bytes, WorkBudget* budget)
    : read(bytes / page_bytes + 1), written(bytes / page_bytes + 1), held(budget) {}

std::uint64_t LazyPages::touch_new(std::uint64_t first, std::uint64_t last, bool write) {
  std::vector<bool>& pages = write ? written : read;
  std::uint64_t fresh = 0;
  for (std::uint64_t page = first; page <= last; ++page) {
    fresh += pages[page] ? 0 : 1;
    pages[page] = true;
  }
  return fresh;
}

void LazyPages::forget() {
  read.assign(read.size(), false);
  written.assign(written.size(), false);
  held.release();
}

Result<void> DeviceMemory::insert(std::uint64_t base, std::uint64_t bytes, std::string name, MemoryAccessRight right,
                                  HostMemory mapped) {
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
  const std::uint64_t host_bytes = mapped != nullptr ? bytes / LazyPages::page_bytes / 4 : 2 * bytes;
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
  allocation->pristine = mapped == nullptr;  // a mapping has other content
  if (mapped != nullptr) {
    allocation->data = std::move(mapped);
    allocation->lazy = std::make_unique<LazyPages>(bytes, budget_);
    allocation->fully_defined = true;
  } else {
    allocation->data = HostMemory(new std::byte[bytes + host_padding_bytes]());
    allocation->defined = std::make_unique<std::byte[]>(bytes + host_padding_bytes);
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

Result<std::uint64_t> DeviceMemory::allocate_tiled(std::uint64_t bytes, std::string name, MemoryAccessRight right,
                                                   std::string_view tile) {
  KW_TRY(HostMemory mapped, map_repeated(bytes + host_padding_bytes, tile));
  std::uint64_t base = next_address_;
  KW_TRY_VOID(insert(base, bytes, std::move(name), right, std::move(mapped)));
  next_address_ = round_up(base + bytes + red_zone_bytes, alignment_bytes);
  return base;
}

Result<std::uint64_t> DeviceMemory::allocate_untouched(std::uint64_t bytes, std::string name, MemoryAccessRight right) {
  return allocate_tiled(bytes, std::move(name), right, {});
}

void DeviceMemory::discard_writes() {
  for (const auto& allocation : allocations_)
    if (const std::size_t mapped = allocation->data.get_deleter().mapped_bytes;
        allocation->data != nullptr && mapped != 0) {
      madvise(allocation->data.get(), mapped, MADV_DONTNEED);
      allocation->lazy->forget();
    }
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
  std::memmove(to->data.get() + (target - to->base), from->data.get() + (source - from->base), bytes);
  if (to->defined == nullptr || from->defined == nullptr) return {};
  std::memmove(to->defined.get() + (target - to->base), from->defined.get() + (source - from->base), bytes);
  to->fully_defined = false;
  to->pristine = false;
  return {};
}

Result<std::string> DeviceMemory::read(std::uint64_t address, std::uint64_t bytes) const {
  if (bytes == 0) return std::string();
  KW_TRY(const Allocation* allocation, range(address, bytes));
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
