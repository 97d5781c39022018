#pragma once
// A large array of zeros from the system, which gives each part of it when it is first touched, in large pages where it
// can: keys and values are read all over it, and small pages would miss the translation buffer at every turn.

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/check.h"

namespace kw {

class ZeroedFloats {
 public:
  explicit ZeroedFloats(std::size_t count) : bytes_(count * sizeof(float) + huge_page) {
    mapped_ = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    KW_CHECK(mapped_ != MAP_FAILED);
    const auto start = reinterpret_cast<std::uintptr_t>(mapped_);
    const std::uintptr_t aligned = (start + huge_page - 1) / huge_page * huge_page;
    floats_ = reinterpret_cast<float*>(aligned);
    ::madvise(floats_, bytes_ - (aligned - start), MADV_HUGEPAGE);  // a wish: no harm when it is not granted
  }
  ~ZeroedFloats() { ::munmap(mapped_, bytes_); }
  ZeroedFloats(const ZeroedFloats&) = delete;
  ZeroedFloats& operator=(const ZeroedFloats&) = delete;

  float* get() const { return floats_; }

 private:
  static constexpr std::size_t huge_page = std::size_t{2} << 20;
  std::size_t bytes_;
  void* mapped_ = nullptr;
  float* floats_ = nullptr;
};

}  // namespace kw
