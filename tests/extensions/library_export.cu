// task: x float32 [rows, cols] -> y float32 [rows, cols]
#include <torch/library.h>
#include <torch/extension.h>

__global__ void relu_kernel(const float* __restrict__ x, float* __restrict__ y, int64_t n) {
  const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i < n) y[i] = x[i] > 0.0f ? x[i] : 0.0f;
}

at::Tensor relu_cuda(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  relu_kernel<<<(x.numel() + 255) / 256, 256>>>(x.const_data_ptr<float>(), y.mutable_data_ptr<float>(), x.numel());
  return y;
}

TORCH_LIBRARY(ops, m) { m.def("forward(Tensor x) -> Tensor"); }
TORCH_LIBRARY_IMPL(ops, CUDA, m) { m.impl("forward", &relu_cuda); }
