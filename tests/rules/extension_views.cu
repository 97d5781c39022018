// task: x float32 [rows, 4, cols] -> y float32 [rows, 4, cols]
#include <torch/extension.h>

__global__ void strided(const float* x, float* y, int64_t rows, int64_t cols, int64_t row_stride, int64_t col_stride) {
  const int64_t r = blockIdx.x, c = threadIdx.x;
  if (r < rows && c < cols) y[r * row_stride + c * col_stride] = x[r * row_stride + c * col_stride] + 1.0f;
}

torch::Tensor forward(torch::Tensor x) {
  auto flat = x.view({x.size(0), -1});
  auto turned = x.transpose(1, 2);
  auto y = torch::empty_like(x);
  auto lines = y.reshape({x.size(0) * 4, x.size(2)});
  auto one = x.unsqueeze(0).squeeze(0).flatten(1);
  auto middle = x.permute({2, 0, 1});
  strided<<<flat.size(0), flat.size(1) % 1024>>>(flat.data_ptr<float>(), lines.data_ptr<float>(), turned.size(1),
                                                 turned.size(2), turned.stride(1), turned.stride(2));
  strided<<<middle.size(1), one.size(-1) % 1024>>>(one.data_ptr<float>(), y.flatten().data_ptr<float>(),
                                                   middle.stride(0), middle.stride(1), middle.stride(-1), one.stride(0));
  TORCH_CHECK(!turned.is_contiguous() && flat.is_contiguous() && y.view({-1}).dim() == 1);
  return lines.view_as(x);
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward, "forward"); }
