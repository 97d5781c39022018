#include <cuda_fp16.h>

// One thread rotates one pair; blockIdx.y is the position and blockIdx.z the batch entry.
__global__ void rotate_pairs(const __half* x, const __half* cosine, const __half* sine, __half* y, int seq, int heads,
                             int pairs) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= heads * pairs) return;
  int position = blockIdx.y;
  int pair = i % pairs;
  int at = ((blockIdx.z * seq + position) * heads * pairs + i) * 2;
  float even = __half2float(x[at]);
  float odd = __half2float(x[at + 1]);
  float c = __half2float(cosine[position * pairs + pair]);
  float s = __half2float(sine[position * pairs + pair]);
  y[at] = __float2half(even * c - odd * s);
  y[at + 1] = __float2half(even * s + odd * c);
}

extern "C" void launch(const __half* x, const __half* cosine, const __half* sine, __half* y, int batch, int seq,
                       int heads, int pairs, cudaStream_t stream) {
  dim3 block(128, 1, 1);
  dim3 grid((heads * pairs + 127) / 128, seq, batch);
  rotate_pairs<<<grid, block, 0, stream>>>(x, cosine, sine, y, seq, heads, pairs);
}
