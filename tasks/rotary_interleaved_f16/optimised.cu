#include <cuda_fp16.h>

// A thread turns four neighbouring pairs: one 16-byte load and store of x, 8-byte loads of the angles, arithmetic in
// float. The angles of a position stay in the caches for all heads.
template <int width>
struct alignas(width * sizeof(__half)) Pack {
  __half at[width];
};

template <int width>
__global__ void rotate_pairs(const __half* __restrict__ x, const __half* __restrict__ cosine,
                             const __half* __restrict__ sine, __half* __restrict__ y, int rows, int seq, int heads,
                             int pairs) {
  const int packs = pairs / width;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int row = i / packs;
  if (row >= rows) return;
  const int position = row / heads % seq;
  const int angle = position * packs + i - row * packs;
  const Pack<width> cosines = reinterpret_cast<const Pack<width>*>(cosine)[angle];
  const Pack<width> sines = reinterpret_cast<const Pack<width>*>(sine)[angle];
  Pack<2 * width> pack = reinterpret_cast<const Pack<2 * width>*>(x)[i];
#pragma unroll
  for (int k = 0; k < width; ++k) {
    const float even = __half2float(pack.at[2 * k]);
    const float odd = __half2float(pack.at[2 * k + 1]);
    const float c = __half2float(cosines.at[k]);
    const float s = __half2float(sines.at[k]);
    pack.at[2 * k] = __float2half(even * c - odd * s);
    pack.at[2 * k + 1] = __float2half(even * s + odd * c);
  }
  reinterpret_cast<Pack<2 * width>*>(y)[i] = pack;
}

constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }

extern "C" void launch(const __half* x, const __half* cosine, const __half* sine, __half* y, int batch, int seq,
                       int heads, int pairs, cudaStream_t stream) {
  constexpr int threads = 256;
  const int rows = batch * seq * heads;
  if (pairs % 4 == 0) {
    const int blocks = ceil_div(rows * (pairs / 4), threads);
    rotate_pairs<4><<<blocks, threads, 0, stream>>>(x, cosine, sine, y, rows, seq, heads, pairs);
  } else {
    const int blocks = ceil_div(rows * pairs, threads);
    rotate_pairs<1><<<blocks, threads, 0, stream>>>(x, cosine, sine, y, rows, seq, heads, pairs);
  }
}
