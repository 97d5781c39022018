// task: softmax
__global__ void step(float* y, int stride, int n) { y[0] = stride + n; }
extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  int n = rows * cols;
  for (int stride = 1, i = 0; stride < n; stride *= 4, i++) {
    if (i == 2) continue;
    if (i > 6) break;
    step<<<(n / stride + 127) / 128, 128, 0, stream>>>(y + stride, stride, n);
  }
  int left = cols;
  while (left > 10) {
    left = left / 3;
    step<<<1, 1, 0, stream>>>(y, left--, ++n);
  }
  do {
    step<<<2, 1, 0, stream>>>(y, left, n);
  } while (left-- > 3);
}
