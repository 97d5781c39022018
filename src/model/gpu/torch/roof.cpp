#include "model/gpu/torch/roof.h"

#include <algorithm>

#include "model/gpu/torch/torch_headers.h"

namespace kw {
namespace {

constexpr int rounds = 8;

// Of the fastest round; the first one warms up and is not counted.
template <class Work>
double best_seconds(const Work& work) {
  float best_ms = 0;
  for (int i = 0; i <= rounds; ++i) {
    at::cuda::CUDAEvent start(cudaEventDefault), end(cudaEventDefault);
    start.record();
    work();
    end.record();
    end.synchronize();
    if (i == 0) continue;
    const float ms = start.elapsed_time(end);
    best_ms = i == 1 ? ms : std::min(best_ms, ms);
  }
  return static_cast<double>(best_ms) * 1e-3;
}

}  // namespace

MachineRoof measure_gpu_roof() {
  const auto place = at::TensorOptions(at::kCUDA).dtype(at::kBFloat16);
  MachineRoof roof;
  {
    // Random values: products of zeros take less power, and run at a clock that no training sees.
    constexpr std::int64_t width = 8192;
    const at::Tensor left = at::randn({width, width}, place), right = at::randn({width, width}, place);
    at::Tensor product = at::empty({width, width}, place);
    const double width_flops = width;
    roof.flops = 2 * width_flops * width_flops * width_flops / best_seconds([&] { at::mm_out(product, left, right); });
    constexpr std::int64_t copied = std::int64_t{1} << 29;  // elements: 1 GiB, far more than the cache
    const at::Tensor from = at::zeros({copied}, place);
    at::Tensor to = at::empty({copied}, place);
    roof.bytes_per_s = 2.0 * static_cast<double>(from.nbytes()) / best_seconds([&] { to.copy_(from); });
  }
  c10::cuda::CUDACachingAllocator::emptyCache();
  return roof;
}

}  // namespace kw
