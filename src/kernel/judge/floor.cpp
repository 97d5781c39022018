#include "kernel/judge/floor.h"

#include <algorithm>

#include <fmt/format.h>

#include "kernel/judge/needed_products.h"

namespace kw {
namespace {

constexpr double mib = 1048576;

// Multiply-adds of half precision, dense, by the tensor cores of a multiprocessor in a cycle: from NVIDIA's white
// papers.
double tensor_rate(int capability) {
  if (capability >= 100) return 4096;
  if (capability >= 90) return 2048;
  if (capability > 80) return 512;
  return 1024;
}

// Relative to half precision: the fastest way that keeps the type's precision.
double rate_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::float32:
      return 1.0 / 3;  // three products of bfloat16 parts
    case Dtype::float64:
      return 1.0 / 8;
    case Dtype::int8:
    case Dtype::uint8:
    case Dtype::boolean:
      return 2;
    case Dtype::int32:
    case Dtype::int64:
      return 1.0 / 5;  // ten products of bytes, at twice the rate
    default:
      return 1;
  }
}

double bytes_at(const std::vector<TensorSpec>& tensors, const Sizes& sizes) {
  double bytes = 0;
  for (const TensorSpec& tensor : tensors) {
    if (tensor.is_scalar()) continue;
    if (const auto elements = tensor.elements_at(sizes); elements.ok())
      bytes += static_cast<double>(*elements) * static_cast<double>(bytes_of(tensor.dtype));
  }
  return bytes;
}

}  // namespace

DeviceCeiling ceiling_of(const DeviceProfile& profile) {
  return {profile.dram_peak_gb_per_s, profile.l2_mib * mib,
          tensor_rate(compute_capability(profile.architecture)) * profile.multiprocessors * profile.clock_ghz};
}

DeviceCeiling ceiling_of(const GpuFacts& facts) {
  return {2.0 * facts.memory_clock_khz * facts.memory_bus_bits / 8 * 1e-6, static_cast<double>(facts.l2_bytes),
          tensor_rate(facts.capability) * facts.multiprocessors * facts.clock_khz * 1e-6};
}

Floor floor_of(const Task& task, const Sizes& sizes, const DeviceCeiling& ceiling, double loaded_share) {
  Floor floor;
  const double inputs = std::clamp(loaded_share, 0.0, 1.0) * bytes_at(task.inputs, sizes);
  const double outputs = std::max(bytes_at(task.outputs, sizes) - ceiling.l2_bytes, 0.0);
  if (ceiling.dram_gb_per_s > 0 && inputs + outputs > 0)
    floor = {(inputs + outputs) / ceiling.dram_gb_per_s * 1e-3,
             fmt::format("{:.1f} MiB that have to be moved at {:.0f} GB/s", (inputs + outputs) / mib,
                         ceiling.dram_gb_per_s)};
  if (ceiling.multiply_adds_per_ns <= 0) return floor;
  const NeededProducts products = needed_products(task, sizes);
  const double us = products.multiply_adds / (ceiling.multiply_adds_per_ns * rate_of(products.dtype)) * 1e-3;
  if (us > floor.us)
    floor = {us, fmt::format("{:.3g} multiply-adds of {} that have to be made, on tensor cores", products.multiply_adds,
                             name_of(products.dtype))};
  return floor;
}

}  // namespace kw
