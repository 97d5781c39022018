// task: x float32 [rows, cols] -> y float32 [rows, cols]
#include <torch/extension.h>
#include <c10/cuda/CUDAGuard.h>

__global__ void relu_kernel(const float* __restrict__ x, float* __restrict__ y, int64_t n) {
  const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i < n) y[i] = x[i] > 0.0f ? x[i] : 0.0f;
}

torch::Tensor forward(torch::Tensor x) {
  const at::cuda::OptionalCUDAGuard device_guard(device_of(x));
  at::cuda::CUDAGuard second(x.device());
  TORCH_CHECK(x.device() == x.device() && x.get_device() == x.get_device());
  auto y = torch::empty_like(x);
  relu_kernel<<<(x.numel() + 15) / 16, 16>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward, "forward"); }
