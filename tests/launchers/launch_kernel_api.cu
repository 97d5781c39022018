// task: softmax
__global__ void raw(const float* x, float* y, int rows, int cols) { y[0] = x[0] + rows + cols; }
template <class T>
__global__ void typed(const T* x, T scale) {}
extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  void* args[] = {&x, &y, &rows, &cols};
  cudaLaunchKernel((void*)raw, dim3(rows), dim3(128), args, 0, stream);
  cudaLaunchKernel((const void*)raw, dim3(rows, 2), dim3(64, 2), args, 256 * sizeof(float), stream);
  float scale = 0.25f;
  const float* shifted = x + cols;
  void* more[2] = {(void*)&shifted, static_cast<void*>(&scale)};
  cudaLaunchKernel(reinterpret_cast<const void*>(&typed<float>), 4, 32, more, 0, stream);
}
