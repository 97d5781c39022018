// task: softmax
// honest: rows up to 1024 in a warp's registers (template by length), up to 8192 in shared memory, longer ones in two passes with scratch.
template <int Each>
__global__ void __launch_bounds__(128) by_warp(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
  const int lane = threadIdx.x % 32;
  for (int row = blockIdx.x * 4 + threadIdx.x / 32; row < rows; row += gridDim.x * 4) {
    const float* from = x + (size_t)row * cols;
    float value[Each], top = -INFINITY, sum = 0.0f;
#pragma unroll
    for (int e = 0; e < Each; ++e) {
      value[e] = lane + 32 * e < cols ? from[lane + 32 * e] : -INFINITY;
      top = fmaxf(top, value[e]);
    }
#pragma unroll
    for (int step = 16; step > 0; step /= 2) top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, step));
#pragma unroll
    for (int e = 0; e < Each; ++e) {
      value[e] = expf(value[e] - top);
      sum += value[e];
    }
#pragma unroll
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
#pragma unroll
    for (int e = 0; e < Each; ++e) {
      if (lane + 32 * e < cols) y[(size_t)row * cols + lane + 32 * e] = value[e] / sum;
    }
  }
}

__device__ float2 merge(float2 a, float2 b) {
  const float top = fmaxf(a.x, b.x);
  if (top == -INFINITY) return make_float2(top, 0.0f);
  return make_float2(top, a.y * expf(a.x - top) + b.y * expf(b.x - top));
}

// Maximum and sum of exponentials of a block of 256 threads, known to all of them.
__device__ float2 merge_block(float2 state, float2* slots) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
    const float2 other = make_float2(__shfl_xor_sync(0xffffffffu, state.x, step), __shfl_xor_sync(0xffffffffu, state.y, step));
    state = merge(state, other);
  }
  if (threadIdx.x % 32 == 0) slots[threadIdx.x / 32] = state;
  __syncthreads();
  state = slots[0];
  for (int w = 1; w < 8; ++w) state = merge(state, slots[w]);
  __syncthreads();
  return state;
}

__global__ void __launch_bounds__(256) by_block(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
  extern __shared__ float kept[];
  __shared__ float2 slots[8];
  for (int row = blockIdx.x; row < rows; row += gridDim.x) {
    float2 state = make_float2(-INFINITY, 0.0f);
    for (int i = threadIdx.x; i < cols; i += 256) {
      kept[i] = x[(size_t)row * cols + i];
      state = merge(state, make_float2(kept[i], 1.0f));
    }
    state = merge_block(state, slots);
    for (int i = threadIdx.x; i < cols; i += 256) y[(size_t)row * cols + i] = expf(kept[i] - state.x) / state.y;
  }
}

constexpr int piece = 4096;

__global__ void __launch_bounds__(256) piece_states(const float* __restrict__ x, float2* __restrict__ states, int rows, int cols,
                                                    int pieces) {
  __shared__ float2 slots[8];
  for (int w = blockIdx.x; w < rows * pieces; w += gridDim.x) {
    const int begin = w % pieces * piece, end = min(cols, begin + piece);
    float2 state = make_float2(-INFINITY, 0.0f);
    for (int i = begin + threadIdx.x; i < end; i += 256) state = merge(state, make_float2(x[(size_t)(w / pieces) * cols + i], 1.0f));
    state = merge_block(state, slots);
    if (threadIdx.x == 0) states[w] = state;
  }
}

__global__ void __launch_bounds__(256) normalise(const float* __restrict__ x, const float2* __restrict__ states, float* __restrict__ y,
                                                 int rows, int cols, int pieces) {
  for (int w = blockIdx.x; w < rows * pieces; w += gridDim.x) {
    const int row = w / pieces, begin = w % pieces * piece, end = min(cols, begin + piece);
    float2 state = states[row * pieces];
    for (int p = 1; p < pieces; ++p) state = merge(state, states[row * pieces + p]);
    for (int i = begin + threadIdx.x; i < end; i += 256) y[(size_t)row * cols + i] = expf(x[(size_t)row * cols + i] - state.x) / state.y;
  }
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  const int warp_blocks = min((rows + 3) / 4, 132 * 8);
  if (cols <= 128) {
    by_warp<4><<<warp_blocks, 128, 0, stream>>>(x, y, rows, cols);
  } else if (cols <= 384) {
    by_warp<12><<<warp_blocks, 128, 0, stream>>>(x, y, rows, cols);
  } else if (cols <= 1024) {
    by_warp<32><<<warp_blocks, 128, 0, stream>>>(x, y, rows, cols);
  } else if (cols <= 8192) {
    by_block<<<min(rows, 132 * 4), 256, cols * sizeof(float), stream>>>(x, y, rows, cols);
  } else {
    const int pieces = (cols + piece - 1) / piece, blocks = min(rows * pieces, 132 * 8);
    float2* states;
    cudaMallocAsync(&states, (size_t)rows * pieces * sizeof(float2), stream);
    piece_states<<<blocks, 256, 0, stream>>>(x, states, rows, cols, pieces);
    normalise<<<blocks, 256, 0, stream>>>(x, states, y, rows, cols, pieces);
    cudaFreeAsync(states, stream);
  }
}
