// task: x float32 [rows, cols], bias float32 [cols] -> y float32 [rows, cols]
#include <torch/extension.h>

__global__ void add_bias(const float* x, const float* bias, float* y, int rows, int cols) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y;
  if (c < cols) y[r * cols + c] = x[r * cols + c] + (bias != nullptr ? bias[c] : 0.0f);
}

torch::Tensor forward(torch::Tensor x, c10::optional<torch::Tensor> bias) {
  const int rows = x.size(0), cols = x.size(1);
  if (bias.has_value()) TORCH_CHECK(bias.value().size(0) == cols, "bias has the wrong size");
  auto y = torch::empty_like(x);
  const float* bias_pointer = bias ? bias->data_ptr<float>() : nullptr;
  add_bias<<<dim3((cols + 31) / 32, rows), 32>>>(x.data_ptr<float>(), bias_pointer, y.data_ptr<float>(), rows, cols);
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward, "forward"); }
