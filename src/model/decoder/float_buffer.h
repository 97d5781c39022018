#pragma once
// Floats at a cache line's boundary that are not set when they are made. Grows and never shrinks: a training step
// after the largest one allocates nothing. Large ones ask for large pages: activations are read with strides over
// more memory than the processor has small pages in its tables for.

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace kw {

struct FreeFloats {
  std::align_val_t alignment{64};
  void operator()(float* floats) const { ::operator delete(floats, alignment); }
};

class FloatBuffer {
 public:
  // What was in it before is lost when it grows.
  float* reserve(std::int64_t count) {
    if (count > capacity_) {
      floats_.reset();
      const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(float);
      const std::align_val_t alignment{bytes >= large_page ? large_page : std::size_t{64}};
      floats_ = {static_cast<float*>(::operator new(bytes, alignment)), FreeFloats{alignment}};
      if (bytes >= large_page)
        ::madvise(floats_.get(), bytes, MADV_HUGEPAGE);  // a wish; what comes of it is speed alone
      capacity_ = count;
    }
    return floats_.get();
  }
  float* data() { return floats_.get(); }
  const float* data() const { return floats_.get(); }

 private:
  static constexpr std::size_t large_page = 2u << 20;
  std::unique_ptr<float, FreeFloats> floats_;
  std::int64_t capacity_ = 0;
};

}  // namespace kw
