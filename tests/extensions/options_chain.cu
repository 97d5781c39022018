// task: x float32 [rows, cols] -> y int32 [rows]
#include <torch/extension.h>

__global__ void argmax(const float* x, int* y, int cols) {
  if (threadIdx.x == 0) {
    int best = 0;
    for (int i = 1; i < cols; ++i)
      if (x[blockIdx.x * cols + i] > x[blockIdx.x * cols + best]) best = i;
    y[blockIdx.x] = best;
  }
}

torch::Tensor forward(torch::Tensor x) {
  auto options = torch::TensorOptions().dtype(torch::kInt32).device(x.device());
  auto y = torch::empty(x.size(0), options);
  auto work = torch::zeros({4, 4}, torch::dtype(torch::kFloat64).device(torch::kCUDA));
  auto other = at::empty({x.size(1)}, x.options().dtype(at::kLong).requires_grad(false));
  argmax<<<x.size(0), 1>>>(x.data_ptr<float>(), y.data_ptr<int>(), static_cast<int>(x.size(1)));
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward, "forward"); }
