#pragma once
// Settings that torch keeps for the whole process: the type of new tensors, and how freely float32 and half products
// are computed.

#include <mutex>

#include "kernel/reference/torch/torch_headers.h"

namespace kw {

enum class Arithmetic {
  careful,  // for values: no TF32, no sums in half precision, cuDNN's deterministic algorithms
  eager,    // for times: PyTorch's defaults, without TF32
  eager_with_tf32
};

// One at a time, hence the lock; everything is as before at its end.
class TorchSettings {
 public:
  // New tensors that the text makes (torch.zeros, torch.arange) must be float64 in the truth too.
  TorchSettings(c10::ScalarType default_dtype, Arithmetic arithmetic);
  ~TorchSettings();
  TorchSettings(const TorchSettings&) = delete;
  TorchSettings& operator=(const TorchSettings&) = delete;

 private:
  std::lock_guard<std::mutex> lock_;
  caffe2::TypeMeta dtype_before_;
};

}  // namespace kw
