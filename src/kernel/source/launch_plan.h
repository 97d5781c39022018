#pragma once
// What a launcher does for given sizes: the list of steps that the interpreter found by reading it. Both backends
// execute this and nothing else; host code is never run.

#include <array>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"

namespace kw {

struct Dim3 {
  std::uint32_t x = 1;
  std::uint32_t y = 1;
  std::uint32_t z = 1;
  friend bool operator==(const Dim3&, const Dim3&) = default;
};

// A block of device memory that the plan's pointers point into.
struct Buffer {
  enum class Kind { input, output, scratch };
  Kind kind;
  std::string name;  // the launcher's parameter, or the scratch variable
  std::uint64_t bytes = 0;
};

// A device pointer: a buffer and an offset into it, or null.
struct DevicePointer {
  static constexpr int null_buffer = -1;
  int buffer = null_buffer;  // index into LaunchPlan::buffers
  std::int64_t offset_bytes = 0;
  friend bool operator==(const DevicePointer&, const DevicePointer&) = default;
};

// A device pointer inside a struct that is passed by value.
struct EmbeddedPointer {
  std::uint32_t offset_bytes = 0;  // where its 8 bytes lie in the argument
  DevicePointer pointer;
  friend bool operator==(const EmbeddedPointer&, const EmbeddedPointer&) = default;
};

// One kernel argument, converted to the type of the kernel's parameter.
struct KernelArgument {
  std::string name;  // the kernel's parameter
  std::string type;  // as the kernel declares it, template parameters replaced: "const float*", "int"
  // A pointer, or the value's bytes as they lie in the parameter (little endian, exactly sizeof(type) bytes).
  std::variant<DevicePointer, std::string> value;
  std::vector<EmbeddedPointer> pointers;  // of a struct: its bytes are zero there
};

struct KernelLaunch {
  std::string kernel;  // as C++ would name the instance: "softmax", "reduce<256, float>", "ns::scale"
  Dim3 grid;
  Dim3 block;
  std::uint32_t dynamic_shared_bytes = 0;
  bool cooperative = false;
  bool default_stream = false;  // on stream 0 and not on the launcher's: it runs in order, and should be reported
  std::vector<KernelArgument> arguments;
  Position where;
};

struct MemorySet {
  DevicePointer target;
  std::uint8_t value = 0;
  std::uint64_t bytes = 0;
  Position where;
};

struct MemoryCopy {  // device to device
  DevicePointer target;
  DevicePointer source;
  std::uint64_t bytes = 0;
  Position where;
};

struct ScratchAllocate {
  int buffer = 0;
  Position where;
};

struct ScratchFree {
  int buffer = 0;
  Position where;
};

// cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes): larger launches fail without it.
struct SharedMemoryLimit {
  std::string kernel;
  std::uint32_t bytes = 0;
  Position where;
};

using LaunchStep = std::variant<KernelLaunch, MemorySet, MemoryCopy, ScratchAllocate, ScratchFree, SharedMemoryLimit>;

struct LaunchPlan {
  std::vector<Buffer> buffers;  // the launcher's pointer parameters first, in order
  std::vector<LaunchStep> steps;

  std::vector<const KernelLaunch*> launches() const;
};

}  // namespace kw
