#include <cuda_bf16.h>

// One thread copies one element of one token's vector.
__global__ void embed(const int* ids, const __nv_bfloat16* table, __nv_bfloat16* y, int tokens, int dim) {
  int d = blockIdx.x * blockDim.x + threadIdx.x;
  int token = blockIdx.y * blockDim.y + threadIdx.y;
  if (d < dim && token < tokens) {
    y[token * dim + d] = table[ids[token] * dim + d];
  }
}

constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }

extern "C" void launch(const int* ids, const __nv_bfloat16* table, __nv_bfloat16* y, int batch, int seq, int vocab,
                       int dim, cudaStream_t stream) {
  int tokens = batch * seq;
  dim3 block(32, 8);
  dim3 grid(ceil_div(dim, 32), ceil_div(tokens, 8));
  embed<<<grid, block, 0, stream>>>(ids, table, y, tokens, dim);
}
