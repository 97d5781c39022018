// task: relu
__global__ void relu(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.f);
}
extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  auto grid = [](int total, int block) -> dim3 { return dim3((total + block - 1) / block); };
  relu<<<grid(n, 256), 256, 0, stream>>>(x, y, n);
}
