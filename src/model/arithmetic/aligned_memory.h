#pragma once
// Memory for vectors that kernels read from end to end: on a cache line's boundary, and large ones on large pages, so
// that address translation does not hold up the reading.

#include <sys/mman.h>

#include <cstddef>
#include <new>

namespace kw {

template <class T>
struct AlignedMemory {
  using value_type = T;
  static constexpr std::size_t line = 64, large_page = std::size_t{2} << 20;

  AlignedMemory() = default;
  template <class Other>
  AlignedMemory(const AlignedMemory<Other>&) {}

  static constexpr std::size_t alignment(std::size_t bytes) { return bytes < large_page ? line : large_page; }

  T* allocate(std::size_t count) {
    const std::size_t bytes = count * sizeof(T);
    void* memory = ::operator new(bytes, std::align_val_t(alignment(bytes)));
    if (bytes >= large_page) ::madvise(memory, bytes, MADV_HUGEPAGE);  // a wish: without it all is well but slower
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t count) {
    ::operator delete(memory, std::align_val_t(alignment(count * sizeof(T))));
  }
  template <class Other>
  bool operator==(const AlignedMemory<Other>&) const {
    return true;
  }
};

}  // namespace kw
