#pragma once
// Torch's CUDA half: libtorch_cuda.so, which lies beside libtorch_cpu.so and is no link-time dependency.

#include <mutex>
#include <optional>
#include <string>

#include "kernel/reference/cuda_driver.h"
#include "kernel/reference/reference.h"

namespace kw {

// Where a driver is installed, loads libtorch_cuda.so; to be called before anything else of torch. ATen looks for its
// CUDA half when it is first asked about CUDA, and never again; on the CPU a convolution is enough to make it ask.
void load_gpu_backend();

// The GPU's name, or why torch cannot use one. The first answer stays.
Result<std::string> gpu_name();

// While it lives, work may be sent to the device, from this thread alone: another's work on the same stream would fall
// into times. At its end, memory that torch holds without using it goes back to the
// driver, so that others on the same GPU find it. For the CPU it does nothing. Only where gpu_name() is no error.
class DeviceUse {
 public:
  explicit DeviceUse(Device device);
  ~DeviceUse();
  DeviceUse(const DeviceUse&) = delete;
  DeviceUse& operator=(const DeviceUse&) = delete;

 private:
  std::unique_lock<std::recursive_mutex> lock_;
  std::optional<CurrentContext> context_;
};

}  // namespace kw
