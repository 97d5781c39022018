// task: softmax
// One block a row. The row is read once into shared memory when it fits; warps reduce by shuffles, one value a warp crosses the block.
#include <cfloat>

constexpr int warp_size = 32;

__device__ float warp_max(float value) {
  for (int offset = warp_size / 2; offset > 0; offset /= 2) value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
  return value;
}

__device__ float warp_sum(float value) {
  for (int offset = warp_size / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
  return value;
}

template <int threads>
__global__ void __launch_bounds__(threads) softmax_row(const float* __restrict__ x, float* __restrict__ y, int cols, bool staged) {
  extern __shared__ float row[];
  __shared__ float partial[threads / warp_size];
  const float* in = x + static_cast<size_t>(blockIdx.x) * cols;
  float* out = y + static_cast<size_t>(blockIdx.x) * cols;
  const int lane = threadIdx.x % warp_size;
  const int warp = threadIdx.x / warp_size;

  float highest = -FLT_MAX;
  for (int c = threadIdx.x; c < cols; c += threads) {
    const float value = in[c];
    if (staged) row[c] = value;
    highest = fmaxf(highest, value);
  }
  highest = warp_max(highest);
  if (lane == 0) partial[warp] = highest;
  __syncthreads();
  highest = warp_max(lane < threads / warp_size ? partial[lane] : -FLT_MAX);
  __syncthreads();

  float sum = 0.0f;
  for (int c = threadIdx.x; c < cols; c += threads) sum += __expf((staged ? row[c] : in[c]) - highest);
  sum = warp_sum(sum);
  if (lane == 0) partial[warp] = sum;
  __syncthreads();
  sum = warp_sum(lane < threads / warp_size ? partial[lane] : 0.0f);

  const float scale = 1.0f / sum;
  for (int c = threadIdx.x; c < cols; c += threads) out[c] = __expf((staged ? row[c] : in[c]) - highest) * scale;
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  const size_t row_bytes = cols * sizeof(float);
  const bool staged = row_bytes <= 40 * 1024;
  const size_t shared = staged ? row_bytes : 0;
  if (cols <= 256) {
    softmax_row<64><<<rows, 64, shared, stream>>>(x, y, cols, staged);
  } else if (cols <= 2048) {
    softmax_row<256><<<rows, 256, shared, stream>>>(x, y, cols, staged);
  } else {
    softmax_row<1024><<<rows, 1024, shared, stream>>>(x, y, cols, staged);
  }
}
