#pragma once
// What a stream does: run at once, or kept in a graph and run when that is launched.

#include <cuda.h>

#include <cstdint>
#include <variant>

#include "kernel/emulate/emulator.h"

namespace kw::emulated_driver {

struct Device;

struct KernelWork {
  CUfunction function = nullptr;
  LaunchArguments arguments;  // with the parameters' values as they were when it was launched
};

struct FillWork {
  CUdeviceptr target = 0;
  std::uint32_t value = 0;
  std::uint32_t value_bytes = 1;  // 1 or 4
  std::uint64_t count = 0;        // of values
};

struct CopyToDeviceWork {
  CUdeviceptr target = 0;
  const void* source = nullptr;
  std::uint64_t bytes = 0;
};

struct CopyToHostWork {
  void* target = nullptr;
  CUdeviceptr source = 0;
  std::uint64_t bytes = 0;
};

struct CopyOnDeviceWork {
  CUdeviceptr target = 0;
  CUdeviceptr source = 0;
  std::uint64_t bytes = 0;
};

using Work = std::variant<KernelWork, FillWork, CopyToDeviceWork, CopyToHostWork, CopyOnDeviceWork>;

// Runs it now, or records it where the stream is being captured. A kernel's fault is no error of the call that launched
// it: as with hardware, it is found by the next call.
CUresult submit(Device& device, CUstream stream, Work work);
// Errors are those of the call; a fault of a kernel is left in the device.
CUresult run(Device& device, const Work& work);

}  // namespace kw::emulated_driver
