#include <cfloat>

// One block a row, two passes: the first keeps a running maximum and a sum scaled to it, merged by shuffles and one
// value a warp; the second finds the row still in the L1 cache. 16-byte accesses throughout.
constexpr int warp_size = 32;

template <int width>
struct alignas(width * sizeof(float)) Pack {
  float at[width];
};

// The sum of exp(value - top) over what has been seen.
struct Running {
  float top;
  float sum;
};

__device__ Running merge(Running a, Running b) {
  const float top = fmaxf(a.top, b.top);
  return {top, a.sum * __expf(a.top - top) + b.sum * __expf(b.top - top)};
}

__device__ Running warp_merge(Running value) {
  for (int offset = warp_size / 2; offset > 0; offset /= 2) {
    const float top = __shfl_xor_sync(0xffffffffu, value.top, offset);
    const float sum = __shfl_xor_sync(0xffffffffu, value.sum, offset);
    value = merge(value, {top, sum});
  }
  return value;
}

template <int threads>
__device__ Running block_merge(Running value) {
  constexpr int warps = threads / warp_size;
  __shared__ Running partial[warps];
  const int lane = threadIdx.x % warp_size;
  value = warp_merge(value);
  if (lane == 0) partial[threadIdx.x / warp_size] = value;
  __syncthreads();
  return warp_merge(lane < warps ? partial[lane] : Running{-FLT_MAX, 0.0f});
}

template <int width, int threads>
__global__ void __launch_bounds__(threads)
    log_softmax_row(const float* __restrict__ x, float* __restrict__ y, int cols) {
  const auto* in = reinterpret_cast<const Pack<width>*>(x + static_cast<size_t>(blockIdx.x) * cols);
  auto* out = reinterpret_cast<Pack<width>*>(y + static_cast<size_t>(blockIdx.x) * cols);
  const int packs = cols / width;

  Running seen{-FLT_MAX, 0.0f};
#pragma unroll 4
  for (int i = threadIdx.x; i < packs; i += threads) {
    const Pack<width> pack = in[i];
    float top = -FLT_MAX;
#pragma unroll
    for (int k = 0; k < width; ++k) top = fmaxf(top, pack.at[k]);
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < width; ++k) sum += __expf(pack.at[k] - top);
    seen = merge(seen, {top, sum});
  }
  const Running row = block_merge<threads>(seen);

  const float shift = row.top + logf(row.sum);
#pragma unroll 4
  for (int i = threadIdx.x; i < packs; i += threads) {
    Pack<width> pack = in[i];
#pragma unroll
    for (int k = 0; k < width; ++k) pack.at[k] -= shift;
    out[i] = pack;
  }
}

// Long rows get large blocks: there are seldom enough of them to fill the machine otherwise.
template <int width>
void launch_rows(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  if (cols <= 4096) {
    log_softmax_row<width, 256><<<rows, 256, 0, stream>>>(x, y, cols);
  } else {
    log_softmax_row<width, 1024><<<rows, 1024, 0, stream>>>(x, y, cols);
  }
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  if (cols % 4 == 0) {
    launch_rows<4>(x, y, rows, cols, stream);
  } else {
    launch_rows<1>(x, y, rows, cols, stream);
  }
}
