#pragma once
// A launch plan as a GPU worker executes it: kernels by number, arguments as bytes with the places where addresses go.

#include <array>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "kernel/compile/compilation.h"
#include "kernel/source/launch_plan.h"

namespace kw {

struct GpuPointer {
  std::uint32_t offset_bytes = 0;  // in the argument
  std::int32_t buffer = 0;         // DevicePointer::null_buffer: none
  std::int64_t buffer_offset_bytes = 0;
};

struct GpuArgument {
  std::string bytes;
  std::vector<GpuPointer> pointers;
};

struct GpuLaunch {
  std::uint32_t kernel = 0;  // index into the module's kernels
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  std::array<std::uint32_t, 3> block{1, 1, 1};
  std::uint32_t dynamic_shared_bytes = 0;
  bool cooperative = false;
  std::vector<GpuArgument> arguments;
};

struct GpuSet {
  GpuPointer target;
  std::uint8_t value = 0;
  std::uint64_t bytes = 0;
};

struct GpuCopy {
  GpuPointer target;
  GpuPointer source;
  std::uint64_t bytes = 0;
};

using GpuStep = std::variant<GpuLaunch, GpuSet, GpuCopy>;

struct GpuBuffer {
  Buffer::Kind kind = Buffer::Kind::scratch;
  std::uint64_t bytes = 0;
};

// Scratch has a place of its own for the whole plan: allocation is not part of what is timed.
struct GpuPlan {
  std::vector<GpuBuffer> buffers;
  std::vector<GpuStep> steps;
};

// An error when a kernel of the plan is not among the compiled ones, or a memset or copy leaves its buffer.
Result<GpuPlan> gpu_plan(const LaunchPlan& plan, const std::vector<CompiledKernel>& kernels);

void write(ByteWriter& writer, const GpuPlan& plan);
GpuPlan read_gpu_plan(ByteReader& reader);

// Every buffer, kernel and range that the plan names is there; the worker asks before it executes one.
bool is_consistent(const GpuPlan& plan, std::size_t kernels);

}  // namespace kw
