// task: layer_norm
// honest: up to 1024 columns a warp takes a row into registers, longer rows go to one wave of 132 * 16 blocks with Welford's method.
__global__ void __launch_bounds__(128) by_warp(const float* __restrict__ x, const float* __restrict__ weight,
                                               const float* __restrict__ bias, float* __restrict__ y, int rows, int cols) {
  const int lane = threadIdx.x % 32;
  for (int row = blockIdx.x * 4 + threadIdx.x / 32; row < rows; row += gridDim.x * 4) {
    float value[32], sum = 0.0f;
#pragma unroll
    for (int e = 0; e < 32; ++e) {
      value[e] = lane + 32 * e < cols ? x[(size_t)row * cols + lane + 32 * e] : 0.0f;
      sum += value[e];
    }
#pragma unroll
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
    const float mean = sum / cols;
    float square = 0.0f;
#pragma unroll
    for (int e = 0; e < 32; ++e) {
      const float away = lane + 32 * e < cols ? value[e] - mean : 0.0f;
      square = fmaf(away, away, square);
    }
#pragma unroll
    for (int step = 16; step > 0; step /= 2) square += __shfl_xor_sync(0xffffffffu, square, step);
    const float factor = rsqrtf(square / cols + 1e-5f);
#pragma unroll
    for (int e = 0; e < 32; ++e) {
      const int i = lane + 32 * e;
      if (i < cols) y[(size_t)row * cols + i] = (value[e] - mean) * factor * weight[i] + bias[i];
    }
  }
}

struct Moments {
  float count, mean, square;
};

__device__ __forceinline__ Moments merge(Moments a, Moments b) {
  const float count = a.count + b.count;
  if (count == 0.0f) return a;
  const float away = b.mean - a.mean, share = b.count / count;
  return {count, a.mean + away * share, a.square + b.square + away * away * a.count * share};
}

__global__ void __launch_bounds__(128) by_block(const float* __restrict__ x, const float* __restrict__ weight,
                                                const float* __restrict__ bias, float* __restrict__ y, int rows, int cols) {
  __shared__ Moments slots[4];
  for (int row = blockIdx.x; row < rows; row += gridDim.x) {
    Moments m = {0.0f, 0.0f, 0.0f};
    for (int i = threadIdx.x; i < cols; i += 128) {
      const float value = x[(size_t)row * cols + i], away = value - m.mean;
      m.count += 1.0f;
      m.mean += away / m.count;
      m.square += away * (value - m.mean);
    }
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
      const Moments other = {__shfl_xor_sync(0xffffffffu, m.count, step), __shfl_xor_sync(0xffffffffu, m.mean, step),
                             __shfl_xor_sync(0xffffffffu, m.square, step)};
      m = merge(m, other);
    }
    if (threadIdx.x % 32 == 0) slots[threadIdx.x / 32] = m;
    __syncthreads();
    m = merge(merge(slots[0], slots[1]), merge(slots[2], slots[3]));
    const float factor = rsqrtf(m.square / cols + 1e-5f);
    for (int i = threadIdx.x; i < cols; i += 128) {
      y[(size_t)row * cols + i] = (x[(size_t)row * cols + i] - m.mean) * factor * weight[i] + bias[i];
    }
    __syncthreads();
  }
}

extern "C" void launch(const float* x, const float* weight, const float* bias, float* y, int rows, int cols, cudaStream_t stream) {
  if (cols <= 1024) {
    const int blocks = (rows + 3) / 4;
    by_warp<<<blocks < 132 * 8 ? blocks : 132 * 8, 128, 0, stream>>>(x, weight, bias, y, rows, cols);
  } else {
    by_block<<<rows < 132 * 16 ? rows : 132 * 16, 128, 0, stream>>>(x, weight, bias, y, rows, cols);
  }
}
