// Two launches of one kernel: slabs of 128 rows are added up into scratch, then the slabs' sums into y, always in the
// same order. A warp reads 512 contiguous bytes of a row; a block's eight warps share its rows.
constexpr int warp_size = 32;
constexpr int warps = 8;

template <int width>
struct alignas(width * sizeof(float)) Pack {
  float at[width];

  __device__ void add(const Pack& other) {
#pragma unroll
    for (int k = 0; k < width; ++k) at[k] += other.at[k];
  }
};

// Block (x, y) adds up the rows of slab x in the columns of group y.
template <int width>
__global__ void sum_slabs(const float* __restrict__ x, float* __restrict__ sums, int rows, int cols, int slab_rows) {
  __shared__ Pack<width> partial[warps][warp_size];
  const int packs = cols / width;
  const int column = blockIdx.y * warp_size + threadIdx.x;
  const int first = blockIdx.x * slab_rows;
  const int last = min(first + slab_rows, rows);

  Pack<width> sum{};
  if (column < packs) {
    const auto* in = reinterpret_cast<const Pack<width>*>(x) + column;
#pragma unroll 4
    for (int row = first + threadIdx.y; row < last; row += warps) sum.add(in[static_cast<size_t>(row) * packs]);
  }
  partial[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();

  if (threadIdx.y == 0 && column < packs) {
#pragma unroll
    for (int w = 1; w < warps; ++w) sum.add(partial[w][threadIdx.x]);
    reinterpret_cast<Pack<width>*>(sums)[static_cast<size_t>(blockIdx.x) * packs + column] = sum;
  }
}

template <int width>
void launch_sums(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  constexpr int rows_per_slab = 128;
  const int slabs = (rows + rows_per_slab - 1) / rows_per_slab;
  const int groups = (cols / width + warp_size - 1) / warp_size;
  const dim3 block(warp_size, warps);
  float* scratch = nullptr;
  cudaMallocAsync(&scratch, static_cast<size_t>(slabs) * cols * sizeof(float), stream);
  sum_slabs<width><<<dim3(slabs, groups), block, 0, stream>>>(x, scratch, rows, cols, rows_per_slab);
  sum_slabs<width><<<dim3(1, groups), block, 0, stream>>>(scratch, y, slabs, cols, slabs);
  cudaFreeAsync(scratch, stream);
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  if (cols % 4 == 0) {
    launch_sums<4>(x, y, rows, cols, stream);
  } else {
    launch_sums<1>(x, y, rows, cols, stream);
  }
}
