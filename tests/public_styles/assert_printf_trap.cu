// task: add
#include <cassert>
#include <cstdio>
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
__global__ void add_checked(const float* a, const float* b, float* c, int n) {
  assert(blockDim.x <= 1024);
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < 0) {
    printf("thread %d has no element\n", i);
    __trap();
  }
  if (i == 0) printf("%d elements\n", n);
  if (i < n) c[i] = a[i] + b[i];
}
#pragma GCC diagnostic pop
extern "C" void launch(const float* a, const float* b, float* c, int n, cudaStream_t stream) {
  add_checked<<<(n + 255) / 256, 256, 0, stream>>>(a, b, c, n);
}
