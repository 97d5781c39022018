// One thread rounds one element to its column's levels.
__global__ void round_to_levels(const float* x, const int* shift, const int* zero, float* y, int total, int cols) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= total) return;
  int col = i % cols;
  float step = ldexpf(1.0f, -shift[col]);
  float level = rintf(x[i] / step) + static_cast<float>(zero[col]);
  level = fminf(fmaxf(level, -128.0f), 127.0f);
  y[i] = (level - static_cast<float>(zero[col])) * step;
}

extern "C" void launch(const float* x, const int* shift, const int* zero, float* y, int rows, int cols,
                       cudaStream_t stream) {
  const int total = rows * cols;
  round_to_levels<<<(total + 255) / 256, 256, 0, stream>>>(x, shift, zero, y, total, cols);
}
