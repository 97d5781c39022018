// task: x float32 [rows, cols] -> y float32 [1]
#include <torch/extension.h>

__global__ void total(const float* x, float* y, int n) {
  float sum = 0.0f;
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += x[i];
  atomicAdd(y, sum / n);
}

torch::Tensor forward(torch::Tensor x) {
  auto y = torch::zeros({1}, x.options());
  total<<<1, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  return y.squeeze();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward, "forward"); }
