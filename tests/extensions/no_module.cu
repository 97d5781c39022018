// task: x float32 [rows, cols] -> y float32 [rows, cols]
#include <torch/extension.h>

__global__ void relu_kernel(const float* __restrict__ x, float* __restrict__ y, int64_t n) {
  const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i < n) y[i] = x[i] > 0.0f ? x[i] : 0.0f;
}

torch::Tensor helper(torch::Tensor x) { return torch::empty_like(x); }

torch::Tensor forward(torch::Tensor x) {
  torch::Tensor y;
  TORCH_CHECK(!y.defined());
  y = helper(x);
  relu_kernel<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  return y;
}
