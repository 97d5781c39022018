// task: softmax
#include <cstdio>
#include <cstdlib>
#define CUDA_CHECK(call)                                                             \
  do {                                                                               \
    cudaError_t err = (call);                                                        \
    if (err != cudaSuccess) {                                                        \
      fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(err));    \
      exit(1);                                                                       \
    }                                                                                \
  } while (0)
__global__ void work(const float* x, float* y, int n) { y[0] = x[0] + n; }
extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  float* tmp = nullptr;
  CUDA_CHECK(cudaMallocAsync(&tmp, sizeof(float) * rows * cols, stream));
  CUDA_CHECK(cudaMemsetAsync(tmp, 0, sizeof(float) * rows, stream));
  work<<<rows, 32, 0, stream>>>(x, tmp, cols);
  CUDA_CHECK(cudaGetLastError());
  work<<<rows, 32, 0, stream>>>(tmp, y, cols);
  CUDA_CHECK(cudaPeekAtLastError());
  CUDA_CHECK(cudaFreeAsync(tmp, stream));
}
