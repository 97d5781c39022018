#pragma once
// Addresses of tensors as kernels take them.

#include <stdexcept>
#include <string>

#include "model/gpu/torch/torch_headers.h"

namespace kw {

// Null for no tensor.
inline void* address(const at::Tensor& tensor) { return tensor.defined() ? tensor.data_ptr() : nullptr; }

// The kernel for the tensor's type: NAME_bf16 or NAME_f32.
inline std::string typed(const char* name, const at::Tensor& tensor) {
  if (tensor.scalar_type() == at::kBFloat16) return std::string(name) + "_bf16";
  if (tensor.scalar_type() == at::kFloat) return std::string(name) + "_f32";
  throw std::runtime_error(std::string(name) + ": neither bf16 nor float32");
}

inline int as_int(std::int64_t value) { return static_cast<int>(value); }

}  // namespace kw
