// task: relu
#define C10_CUDA_CHECK(EXPR)        \
  do {                              \
    const cudaError_t __err = EXPR; \
    (void)__err;                    \
  } while (0)
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(cudaGetLastError())
#define TORCH_CHECK(cond, ...) \
  do {                         \
    if (!(cond)) return;       \
  } while (0)
__global__ void relu(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.f);
}
extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  TORCH_CHECK(n > 0, "empty");
  relu<<<dim3((n + 1023) / 1024), dim3(1024), 0, stream>>>(x, y, n);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}
