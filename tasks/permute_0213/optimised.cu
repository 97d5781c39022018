// Rows of dim floats move as a whole, so no tile is needed: one block a position reads its heads as one contiguous
// run and scatters them in rows, with 16-byte accesses. A row of 16 threads takes a head, so no index is divided.
constexpr int row_threads = 16;
constexpr int heads_at_once = 16;

template <int width>
struct alignas(width * sizeof(float)) Pack {
  float at[width];
};

template <int width>
__global__ void heads_first(const float* __restrict__ x, float* __restrict__ y, int seq, int heads, int dim) {
  const int packs = dim / width;
  const size_t batch = blockIdx.x / seq;
  const int position = blockIdx.x % seq;
  for (int head = threadIdx.y; head < heads; head += heads_at_once) {
    const size_t source = (static_cast<size_t>(blockIdx.x) * heads + head) * packs;
    const size_t target = ((batch * heads + head) * seq + position) * packs;
#pragma unroll 2
    for (int i = threadIdx.x; i < packs; i += row_threads) {
      reinterpret_cast<Pack<width>*>(y)[target + i] = reinterpret_cast<const Pack<width>*>(x)[source + i];
    }
  }
}

extern "C" void launch(const float* x, float* y, int batch, int seq, int heads, int dim, cudaStream_t stream) {
  const dim3 block(row_threads, heads_at_once);
  if (dim % 4 == 0) {
    heads_first<4><<<batch * seq, block, 0, stream>>>(x, y, seq, heads, dim);
  } else {
    heads_first<1><<<batch * seq, block, 0, stream>>>(x, y, seq, heads, dim);
  }
}
