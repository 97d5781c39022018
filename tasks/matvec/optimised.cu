// One warp a row: the matrix streams past once in contiguous 16-byte loads, the vector stays in the cache.
constexpr int warp_size = 32;
constexpr int rows_per_block = 8;

template <int width>
struct alignas(width * sizeof(float)) Pack {
  float at[width];
};

__device__ float warp_sum(float value) {
  for (int offset = warp_size / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
  return value;
}

template <int width>
__global__ void matvec_rows(const float* __restrict__ a, const float* __restrict__ x, float* __restrict__ y, int m,
                            int k) {
  const int row = blockIdx.x * rows_per_block + threadIdx.y;
  if (row >= m) return;
  const auto* line = reinterpret_cast<const Pack<width>*>(a + static_cast<size_t>(row) * k);
  const auto* vector = reinterpret_cast<const Pack<width>*>(x);
  float sum = 0.0f;
#pragma unroll 4
  for (int i = threadIdx.x; i < k / width; i += warp_size) {
    const Pack<width> u = line[i];
    const Pack<width> v = vector[i];
#pragma unroll
    for (int w = 0; w < width; ++w) sum += u.at[w] * v.at[w];
  }
  sum = warp_sum(sum);
  if (threadIdx.x == 0) y[row] = sum;
}

extern "C" void launch(const float* a, const float* x, float* y, int m, int k, cudaStream_t stream) {
  const dim3 block(warp_size, rows_per_block);
  const int blocks = (m + rows_per_block - 1) / rows_per_block;
  if (k % 4 == 0) {
    matvec_rows<4><<<blocks, block, 0, stream>>>(a, x, y, m, k);
  } else {
    matvec_rows<1><<<blocks, block, 0, stream>>>(a, x, y, m, k);
  }
}
