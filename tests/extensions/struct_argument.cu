// task: x float32 [rows, cols], w float32 [cols] -> y float32 [rows, cols]
#include <torch/extension.h>

struct Params {
  const float* x;
  const float* w;
  float* y;
  int rows, cols;
  float scale;
  int unused;
};

__global__ void weighted(Params p) {
  for (int c = threadIdx.x; c < p.cols; c += blockDim.x)
    p.y[blockIdx.x * p.cols + c] = p.x[blockIdx.x * p.cols + c] * p.w[c] * p.scale;
}

torch::Tensor forward(torch::Tensor x, torch::Tensor w) {
  auto y = torch::empty_like(x);
  Params p;
  p.x = x.data_ptr<float>();
  p.w = w.data_ptr<float>();
  p.y = y.data_ptr<float>();
  p.rows = x.size(0);
  p.cols = x.size(1);
  p.scale = 1.5f;
  p.unused = 7;  // no padding, whose bytes nobody knows
  weighted<<<p.rows, 96>>>(p);
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward, "forward"); }
