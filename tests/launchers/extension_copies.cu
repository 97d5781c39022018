// task: x float32 [rows, cols] -> y float32 [rows, cols]
#include <torch/extension.h>

__global__ void add_one(float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += 1.0f;
}

torch::Tensor forward(torch::Tensor x) {
  auto y = x.clone();
  auto z = torch::empty_like(x);
  z.copy_(x);
  auto small = x.new_zeros({3, x.size(1)});
  auto open = x.new_empty({2});
  small.zero_();
  add_one<<<(x.numel() + 127) / 128, 128>>>(z.data_ptr<float>(), x.numel());
  add_one<<<(x.numel() + 127) / 128, 128>>>(y.data_ptr<float>(), x.numel());
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward, "forward"); }
