#pragma once
// Floats at a cache line's boundary that are not set when they are made. Grows and never shrinks: a training step
// after the largest one allocates nothing.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace kw {

class FloatBuffer {
 public:
  // What was in it before is lost when it grows.
  float* reserve(std::int64_t count) {
    if (count > capacity_) {
      floats_.reset();
      floats_.reset(
          static_cast<float*>(::operator new (static_cast<std::size_t>(count) * sizeof(float), std::align_val_t{64})));
      capacity_ = count;
    }
    return floats_.get();
  }
  float* data() { return floats_.get(); }
  const float* data() const { return floats_.get(); }

 private:
  struct Free {
    void operator()(float* floats) const { ::operator delete (floats, std::align_val_t{64}); }
  };
  std::unique_ptr<float, Free> floats_;
  std::int64_t capacity_ = 0;
};

}  // namespace kw
