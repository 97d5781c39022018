#pragma once
// The memory of the emulated device: a virtual address space, never host pointers. Allocations are 256-byte aligned
// with unmapped red zones between them, so that an overrun hits nothing instead of a neighbour. Each byte has a shadow
// byte that says whether it was ever written.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/work_budget.h"
#include "kernel/emulate/lazy_pages.h"

namespace kw {

struct MemoryLimits {
  std::uint64_t total_bytes = std::uint64_t{2} << 30;
  std::uint32_t allocations = 4096;
};

enum class MemoryAccessRight : std::uint8_t { read_only, read_write };

struct Allocation {
  std::string name;  // "input x", "output y", "scratch", "__constant__ table"
  std::uint64_t base = 0;
  std::uint32_t bytes = 0;
  MemoryAccessRight right = MemoryAccessRight::read_write;
  bool freed = false;
  bool pristine = true;                    // as new: nothing has been written, by the host or by a launch
  bool fully_defined = false;              // every byte was written from the host: `defined` need not be looked at
  HostMemory data;                         // with some bytes of padding behind
  HostMemory defined;                      // 0: never written; 1: written; none where that is not recorded
  std::uint32_t undefined_store_line = 0;  // the first store of an undefined value, if there was one
  HeldMemory held;
  std::unique_ptr<LazyPages> lazy;  // of a mapping
  int index = 0;

  bool holds(std::uint64_t address, std::uint64_t size) const {
    return address >= base && address - base <= bytes && size <= bytes - (address - base);
  }
};

// Bytes of an allocation that no thread has given a defined value.
struct UndefinedBytes {
  std::uint64_t count = 0;
  std::uint64_t first_offset = 0;
  std::uint32_t line = 0;  // of a store of an undefined value; 0: the bytes were never stored to
};

class DeviceMemory {
 public:
  static constexpr std::uint64_t first_address = std::uint64_t{0x10} << 32;
  static constexpr std::uint64_t alignment_bytes = 256;
  static constexpr std::uint64_t red_zone_bytes = 64 << 10;

  // Time and memory that the host needs for it are charged to the budget, which must outlive it; null: they are free.
  explicit DeviceMemory(MemoryLimits limits = {}, WorkBudget* budget = nullptr) : limits_(limits), budget_(budget) {}

  // The content is 0xff (a NaN in every floating-point type) and undefined until written.
  Result<std::uint64_t> allocate(std::uint64_t bytes, std::string name, MemoryAccessRight right);
  // For full-size launches of which only some blocks are run: both cost next to nothing until touched, and count as
  // defined. The content is `tile`, repeated (cut to whole pages when it is over 1 MiB).
  Result<std::uint64_t> allocate_tiled(std::uint64_t bytes, std::string name, MemoryAccessRight right,
                                       std::string_view tile);
  // Zeros.
  Result<std::uint64_t> allocate_untouched(std::uint64_t bytes, std::string name, MemoryAccessRight right);
  // The same with real contents, which the source makes page by page.
  Result<std::uint64_t> allocate_drawn(std::uint64_t bytes, std::string name, MemoryAccessRight right,
                                       std::shared_ptr<const PageSource> source);
  // The same, in memory that others show at the same time.
  Result<std::uint64_t> allocate_shared(std::string name, std::shared_ptr<SharedPages> pages);
  // As allocate_untouched(), and undefined until written, as allocate().
  Result<std::uint64_t> allocate_blank(std::uint64_t bytes, std::string name, MemoryAccessRight right);
  // All these as they were at first, or at keep_writes(); what was written since is gone, and so is the memory it took.
  void discard_writes();
  // From now on discard_writes() goes back to this state, with the module's variables too.
  Result<void> keep_writes();
  // For a module's variables, whose addresses are fixed when it is decoded; the range must be free.
  Result<void> map(std::uint64_t address, std::uint64_t bytes, std::string name, MemoryAccessRight right);
  Result<void> free(std::uint64_t address);

  // From the host. Writing defines the bytes, also of read-only memory.
  Result<void> write(std::uint64_t address, std::string_view bytes);
  Result<void> fill(std::uint64_t address, std::uint8_t value, std::uint64_t bytes);
  // As new: 0xff, and undefined.
  Result<void> poison(std::uint64_t address, std::uint64_t bytes);
  Result<void> copy(std::uint64_t target, std::uint64_t source, std::uint64_t bytes);
  Result<std::string> read(std::uint64_t address, std::uint64_t bytes) const;
  Result<UndefinedBytes> undefined(std::uint64_t address, std::uint64_t bytes) const;

  Allocation* find(std::uint64_t address);
  const Allocation* find(std::uint64_t address) const;
  // For messages: the allocation whose end or start is nearest, within the red zone; freed ones too.
  const Allocation* nearest(std::uint64_t address) const;

  const std::vector<std::unique_ptr<Allocation>>& allocations() const { return allocations_; }
  // Which module's variables are mapped; 0: none.
  std::uint64_t module_id = 0;

 private:
  struct Mapped {
    HostMemory data, defined;
    std::shared_ptr<const PageSource> source;
    std::shared_ptr<SharedPages> shared;
  };
  struct Kept {
    Allocation* allocation = nullptr;
    std::vector<std::byte> data, defined;
  };
  Result<void> insert(std::uint64_t base, std::uint64_t bytes, std::string name, MemoryAccessRight right,
                      Mapped mapped = {});
  Result<std::uint64_t> insert_mapped(std::uint64_t bytes, std::string name, MemoryAccessRight right, Mapped mapped);
  // The host is about to read or write: pages that were never touched get their contents.
  Result<void> touch(Allocation& allocation, std::uint64_t offset, std::uint64_t bytes, bool write) const;
  // Contents that it shares with others become its own.
  static Result<void> part(Allocation& allocation, WorkBudget* budget);
  Result<void> charge(WorkKind kind, std::uint64_t amount, std::uint64_t units) const;
  Result<Allocation*> range(std::uint64_t address, std::uint64_t bytes) const;

  MemoryLimits limits_;
  WorkBudget* budget_ = nullptr;
  std::vector<std::unique_ptr<Allocation>> allocations_;  // in order of `index`
  std::vector<Allocation*> by_address_;
  std::uint64_t next_address_ = first_address;
  std::uint64_t live_bytes_ = 0;
  std::vector<Kept> kept_;  // of memory that is not mapped
};

}  // namespace kw
