// task: group_norm
// honest: groups in pieces of 6144 values whose moments go to scratch, a second kernel merges and normalises; 1056 blocks at most.
constexpr int threads = 256, piece = 6144;

__device__ float block_sum(float value, float* slots) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
  if (threadIdx.x % 32 == 0) slots[threadIdx.x / 32] = value;
  __syncthreads();
  value = 0.0f;
#pragma unroll
  for (int w = 0; w < threads / 32; ++w) value += slots[w];
  __syncthreads();
  return value;
}

__global__ void __launch_bounds__(threads) moments(const float* __restrict__ x, float2* __restrict__ parts, int groups, int size,
                                                   int pieces) {
  __shared__ float slots[threads / 32];
  for (int w = blockIdx.x; w < groups * pieces; w += gridDim.x) {
    const int begin = w % pieces * piece, count = min(piece, size - begin);
    const float* from = x + (size_t)(w / pieces) * size + begin;
    float value[piece / threads], sum = 0.0f, square = 0.0f;
    if (count == piece) {
#pragma unroll
      for (int e = 0; e < piece / threads; ++e) {
        value[e] = from[e * threads + threadIdx.x];
        sum += value[e];
      }
      const float mean = block_sum(sum, slots) / piece;
#pragma unroll
      for (int e = 0; e < piece / threads; ++e) square = fmaf(value[e] - mean, value[e] - mean, square);
      square = block_sum(square, slots);
      if (threadIdx.x == 0) parts[w] = make_float2(mean, square);
    } else {
      for (int i = threadIdx.x; i < count; i += threads) sum += from[i];
      const float mean = block_sum(sum, slots) / count;
      for (int i = threadIdx.x; i < count; i += threads) square = fmaf(from[i] - mean, from[i] - mean, square);
      square = block_sum(square, slots);
      if (threadIdx.x == 0) parts[w] = make_float2(mean, square);
    }
  }
}

__global__ void __launch_bounds__(threads) normalise(const float* __restrict__ x, const float2* __restrict__ parts,
                                                     const float* __restrict__ weight, const float* __restrict__ bias,
                                                     float* __restrict__ y, int batch_groups, int groups, int width, int area,
                                                     int pieces) {
  const int size = width * area;
  for (int w = blockIdx.x; w < batch_groups * pieces; w += gridDim.x) {
    const int group = w / pieces, begin = w % pieces * piece, end = min(size, begin + piece);
    float count = 0.0f, mean = 0.0f, square = 0.0f;
    for (int p = 0; p < pieces; ++p) {
      const float2 part = parts[group * pieces + p];
      const float more = min(piece, size - p * piece), away = part.x - mean, share = more / (count + more);
      mean += away * share;
      square += part.y + away * away * count * share;
      count += more;
    }
    const float factor = rsqrtf(square / size + 1e-5f);
    for (int i = begin + threadIdx.x; i < end; i += threads) {
      const int channel = group % groups * width + i / area;
      y[(size_t)group * size + i] = (x[(size_t)group * size + i] - mean) * factor * weight[channel] + bias[channel];
    }
  }
}

extern "C" void launch(const float* x, const float* weight, const float* bias, float* y, int batch, int groups, int width, int area,
                       cudaStream_t stream) {
  const int size = width * area, pieces = (size + piece - 1) / piece, work = batch * groups * pieces;
  const int blocks = work < 1056 ? work : 1056;
  float2* parts;
  cudaMallocAsync(&parts, (size_t)work * sizeof(float2), stream);
  moments<<<blocks, threads, 0, stream>>>(x, parts, batch * groups, size, pieces);
  normalise<<<blocks, threads, 0, stream>>>(x, parts, weight, bias, y, batch * groups, groups, width, area, pieces);
  cudaFreeAsync(parts, stream);
}
