// task: x float16 [rows, cols] -> y float16 [rows, cols]
#include <torch/extension.h>
#include <cuda_fp16.h>

__global__ void twice(const __half* x, __half* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __float2half(2.0f * __half2float(x[i]));
}

torch::Tensor forward(torch::Tensor x) {
  auto y = torch::empty_like(x);
  const int n = x.numel();
  twice<<<(n + 63) / 64, 64>>>(reinterpret_cast<const __half*>(x.data_ptr<at::Half>()),
                               reinterpret_cast<__half*>(y.data_ptr<at::Half>()), n);
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward, "forward"); }
