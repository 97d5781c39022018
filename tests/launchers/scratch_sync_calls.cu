// task: softmax
__global__ void use(float* a, char* b) { a[0] = b[0]; }
extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  void* raw = NULL;
  if (cudaMalloc(&raw, 1000 + rows) != cudaSuccess) return;
  cudaMemset(raw, 1, 100);
  cudaMemcpy(raw, x, 64, cudaMemcpyDeviceToDevice);
  use<<<1, 64>>>(static_cast<float*>(raw), (char*)raw + 128);
  cudaDeviceSynchronize();
  cudaStreamSynchronize(stream);
  cudaFree(raw);
}
