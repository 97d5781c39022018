// task: relu
#include <cstdio>
#include <cstdlib>
inline void cudaCheck(cudaError_t error, const char* file, int line) {
  if (error != cudaSuccess) {
    printf("[CUDA ERROR] at file %s:%d:\n%s\n", file, line, cudaGetErrorString(error));
    exit(EXIT_FAILURE);
  }
}
#define cudaCheck(err) (cudaCheck(err, __FILE__, __LINE__))
__global__ void relu(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.f);
}
extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  const int block_size = 512;
  const int grid_size = (n + block_size - 1) / block_size;
  relu<<<grid_size, block_size, 0, stream>>>(x, y, n);
  cudaCheck(cudaGetLastError());
}
