// task: relu
// bug: fewer elements than a block has threads give a grid of no blocks
// kind: launcher_error|launch_error
// status: launcher_error
__global__ void relu_kernel(const float* __restrict__ x, float* __restrict__ y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = fmaxf(x[i], 0.0f);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  const int threads = 256;
  relu_kernel<<<n / threads, threads, 0, stream>>>(x, y, n);  // BUG
}
