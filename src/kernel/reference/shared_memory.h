#pragma once
// Memory that this program shares with one reference process. It can grow and, by a seal of the kernel, never shrink:
// whoever is on the other side cannot take away what is being read.

#include <cstddef>
#include <cstdint>

#include "base/result.h"

namespace kw {

class SharedMemory {
 public:
  // Empty, in the process that will grow it.
  static Result<SharedMemory> make();
  // The other side's view; owns the descriptor.
  static SharedMemory adopt(int descriptor);
  ~SharedMemory();
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&&) = delete;

  int descriptor() const { return descriptor_; }
  char* data() const { return data_; }
  std::uint64_t bytes() const { return bytes_; }

  // At least so many; what lies there may move to another address.
  Result<void> grow(std::uint64_t bytes);
  // The other side's part of growing.
  Result<void> map(std::uint64_t bytes);
  // Gives the pages back to the system where they are many; the contents are lost.
  void forget();

 private:
  explicit SharedMemory(int descriptor) : descriptor_(descriptor) {}

  int descriptor_ = -1;
  char* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace kw
