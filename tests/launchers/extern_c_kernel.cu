// task: softmax
extern "C" __global__ void extern_c_kernel_named(const float* x, float* y, int n) { y[0] = x[0] + n; }
extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  extern_c_kernel_named<<<rows, 32, 16, stream>>>(x, y, cols);
}
