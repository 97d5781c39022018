// task: relu
__global__ void relu(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.f);
}
extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  cudaDeviceProp prop;
  int dev;
  cudaGetDevice(&dev);
  cudaGetDeviceProperties(&prop, dev);
  int threads = std::min(prop.maxThreadsPerBlock, 256);
  relu<<<(n + threads - 1) / threads, threads, 0, stream>>>(x, y, n);
}
