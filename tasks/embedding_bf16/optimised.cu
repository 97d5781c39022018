#include <cuda_bf16.h>

// One warp a token: its id is read once, then the row is copied eight bfloat16 a lane, four loads in flight.
constexpr int warp_size = 32;
constexpr int tokens_per_block = 4;

template <int width>
struct alignas(width * sizeof(__nv_bfloat16)) Pack {
  __nv_bfloat16 at[width];
};

template <int width>
__global__ void embed(const int* __restrict__ ids, const __nv_bfloat16* __restrict__ table,
                      __nv_bfloat16* __restrict__ y, int tokens, int dim) {
  const int token = blockIdx.x * tokens_per_block + threadIdx.y;
  if (token >= tokens) return;
  const auto* in = reinterpret_cast<const Pack<width>*>(table + static_cast<size_t>(ids[token]) * dim);
  auto* out = reinterpret_cast<Pack<width>*>(y + static_cast<size_t>(token) * dim);
#pragma unroll 4
  for (int i = threadIdx.x; i < dim / width; i += warp_size) out[i] = in[i];
}

extern "C" void launch(const int* ids, const __nv_bfloat16* table, __nv_bfloat16* y, int batch, int seq, int vocab,
                       int dim, cudaStream_t stream) {
  const int tokens = batch * seq;
  const dim3 block(warp_size, tokens_per_block);
  const int blocks = (tokens + tokens_per_block - 1) / tokens_per_block;
  if (dim % 8 == 0) {
    embed<8><<<blocks, block, 0, stream>>>(ids, table, y, tokens, dim);
  } else {
    embed<1><<<blocks, block, 0, stream>>>(ids, table, y, tokens, dim);
  }
}
