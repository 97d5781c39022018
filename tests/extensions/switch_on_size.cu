// task: x float32 [rows, cols] -> y float32 [rows, cols]
#include <torch/extension.h>

template <typename T, int VECTOR>
__global__ void copy_scaled(const T* x, T* y, size_t n) {
  const size_t i = (blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x) * VECTOR;
  for (int k = 0; k < VECTOR; ++k)
    if (i + k < n) y[i + k] = x[i + k] * T(3);
}

#define LAUNCH(V)                                                                                           \
  case V:                                                                                                   \
    copy_scaled<float, V><<<(n + 128 * V - 1) / (128 * V), 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), n); \
    break;

torch::Tensor forward(torch::Tensor x) {
  auto y = torch::empty_like(x);
  const size_t n = x.numel();
  const int vector = n % 4 == 0 ? 4 : n % 2 == 0 ? 2 : 1;
  switch (vector) {
    LAUNCH(1)
    LAUNCH(2)
    LAUNCH(4)
    default:
      TORCH_CHECK(false, "unreachable");
  }
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward, "forward"); }
