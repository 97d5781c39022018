// task: x float32 [rows, cols], alpha float32 [], steps int32 [] -> y float32 [rows, cols]
#include <torch/extension.h>

__global__ void repeat(const float* x, float* y, int n, float alpha, double exact, int steps, long wide) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float value = x[i];
    for (int s = 0; s < steps; ++s) value *= alpha;
    y[i] = value;
  }
}

torch::Tensor forward(torch::Tensor x, double alpha, int64_t steps, bool clamp = false, float extra = 0.5f) {
  TORCH_CHECK(steps >= 0 && !clamp);
  auto y = torch::empty_like(x);
  const int n = x.numel();
  repeat<<<(n + 99) / 100, 100>>>(x.data_ptr<float>(), y.data_ptr<float>(), n, static_cast<float>(alpha),
                                  alpha * extra, steps, steps * x.size(1));
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward, "forward"); }
