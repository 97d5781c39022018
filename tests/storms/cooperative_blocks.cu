// task: relu
// storm: a cooperative launch whose blocks are all under way with much shared memory
// status: timeout|correct|rejected|unsupported
#include <cooperative_groups.h>

__global__ void relu(const float* x, float* y, int n) {
  extern __shared__ float room[];
  room[threadIdx.x] = 0;
  for (int k = 0; k < 100000; ++k) {
    room[threadIdx.x] += 1;
    cooperative_groups::this_grid().sync();
  }
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = i; k < n; k += gridDim.x * blockDim.x) y[k] = fmaxf(x[k], room[threadIdx.x] < 0 ? 1.0f : 0.0f);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  cudaFuncSetAttribute(relu, cudaFuncAttributeMaxDynamicSharedMemorySize, 220 << 10);
  void* arguments[] = {&x, &y, &n};
  cudaLaunchCooperativeKernel(relu, dim3(132), dim3(1024), arguments, 220 << 10, stream);
}
