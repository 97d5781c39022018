// task: x float32 [rows, 4, cols] -> y float32 [rows, 4, cols]
#include <torch/extension.h>

__global__ void wide(const float4* x, float4* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float4 v = x[i];
    v.x += 1.0f;
    v.y += 1.0f;
    v.z += 1.0f;
    v.w += 1.0f;
    y[i] = v;
  }
}

torch::Tensor forward(torch::Tensor x) {
  auto y = torch::empty_like(x);
  float* from = x.data_ptr<float>();
  TORCH_CHECK(reinterpret_cast<uintptr_t>(from) % 16 == 0);
  const int n = x.numel() / 4;
  wide<<<(n + 255) / 256, 256>>>(reinterpret_cast<const float4*>(from), reinterpret_cast<float4*>(y.data_ptr<float>()),
                                 n);
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward, "forward"); }
