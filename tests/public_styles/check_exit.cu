// task: relu
#include <stdio.h>
#include <stdlib.h>
#define CUDA_CHECK(call)                                                                        \
  do {                                                                                          \
    cudaError_t err = (call);                                                                   \
    if (err != cudaSuccess) {                                                                   \
      fprintf(stderr, "CUDA error %s at %s:%d\n", cudaGetErrorString(err), __FILE__, __LINE__); \
      exit(EXIT_FAILURE);                                                                       \
    }                                                                                           \
  } while (0)
__global__ void relu(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.f);
}
extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  CUDA_CHECK(cudaGetLastError());
  relu<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaStreamSynchronize(stream));
}
