// task: relu
// storm: tensor-core products of zeros in a loop
// status: timeout
#include <cuda_fp16.h>
#include <mma.h>

__global__ void relu(const float* x, float* y, int n) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 16, 16, 16, half, row_major> a;
  fragment<matrix_b, 16, 16, 16, half, col_major> b;
  fragment<accumulator, 16, 16, 16, float> c;
  fill_fragment(a, __float2half(0.5f));
  fill_fragment(b, __float2half(0.25f));
  fill_fragment(c, 0.0f);
  for (int k = 0; k < 1000000; ++k) mma_sync(c, a, b, c);
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], c.x[0] < -1.0f ? 1.0f : 0.0f);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  relu<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
