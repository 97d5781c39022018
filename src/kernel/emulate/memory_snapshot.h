#pragma once
// The memory that a launch changes, so that it can be run again.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernel/emulate/device_memory.h"

namespace kw {

class MemorySnapshot {
 public:
  // What one would take now.
  static std::uint64_t bytes_of(const DeviceMemory& memory);
  explicit MemorySnapshot(DeviceMemory& memory);
  void restore() const;

 private:
  struct Copy {
    Allocation* allocation = nullptr;
    std::vector<std::byte> data, defined;  // empty when nothing has been written yet
    bool pristine = false;
    bool fully_defined = false;
    std::uint32_t undefined_store_line = 0;
  };
  std::vector<Copy> copies_;
};

}  // namespace kw
