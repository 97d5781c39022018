// task: x float64 [rows, cols] -> y float64 [rows, cols]
#include <torch/extension.h>

template <typename scalar_t>
__global__ void scale_kernel(const scalar_t* x, scalar_t* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * static_cast<scalar_t>(2);
}

torch::Tensor forward(torch::Tensor x) {
  auto y = torch::empty_like(x);
  const int n = static_cast<int>(x.numel());
  const int blocks = (n + 31) / 32;
  if (x.scalar_type() == torch::kFloat32) {
    scale_kernel<float><<<blocks, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  } else if (x.dtype() == torch::kFloat64) {
    scale_kernel<double><<<blocks, 32>>>(x.data_ptr<double>(), y.data_ptr<double>(), n);
  } else {
    throw std::runtime_error("no such type");
  }
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward, "forward"); }
