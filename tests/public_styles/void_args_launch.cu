// task: relu
__global__ void relu(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.f);
}
extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  void* args[] = {(void*)&x, (void*)&y, (void*)&n};
  cudaLaunchKernel((const void*)relu, dim3((n + 255) / 256), dim3(256), args, 0, stream);
}
