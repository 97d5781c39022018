// task: x float32 [rows, cols] -> y float32 [rows, cols]
#include <torch/extension.h>

template <int BLOCK, bool CLAMP>
__global__ void scaled(const float* x, float* y, int n, float factor) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n) y[i] = CLAMP ? fmaxf(x[i] * factor, 0.0f) : x[i] * factor;
}

template <int BLOCK>
void launch_scaled(const torch::Tensor& x, torch::Tensor& y, float factor) {
  const int n = x.numel();
  scaled<BLOCK, true><<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(x.data_ptr<float>(), y.data_ptr<float>(), n, factor);
}

torch::Tensor forward(torch::Tensor x) {
  auto y = torch::empty_like(x);
  const float factor = 1.0f / x.size(1);
  if (x.numel() < 1000) {
    launch_scaled<64>(x, y, factor);
  } else if (x.numel() < 100000) {
    launch_scaled<256>(x, y, factor);
  } else {
    launch_scaled<1024>(x, y, factor);
  }
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward, "forward"); }
