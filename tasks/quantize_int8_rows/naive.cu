// One thread quantises one row; frexpf gives top = m * 2^exponent with 0.5 <= m < 1, so top / scale is below 128.
__global__ void quantize_row(const float* x, signed char* q, float* scale, int rows, int cols) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float top = 0.0f;
  for (int c = 0; c < cols; ++c) top = fmaxf(top, fabsf(x[row * cols + c]));
  int exponent = 0;
  frexpf(top, &exponent);
  float step = ldexpf(1.0f, exponent - 7);
  scale[row] = step;
  for (int c = 0; c < cols; ++c) {
    float level = rintf(x[row * cols + c] / step);
    level = fminf(fmaxf(level, -127.0f), 127.0f);
    q[row * cols + c] = static_cast<signed char>(level);
  }
}

extern "C" void launch(const float* x, signed char* q, float* scale, int rows, int cols, cudaStream_t stream) {
  const int threads = 64;
  const int blocks = (rows + threads - 1) / threads;
  quantize_row<<<blocks, threads, 0, stream>>>(x, q, scale, rows, cols);
}
