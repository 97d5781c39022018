// task: cross_entropy_mean
// honest: online logsumexp by 528 persistent blocks over the rows, float4 when rows are aligned; the last block to finish adds the parts.
constexpr int threads = 256;

__device__ __forceinline__ void take(float value, float& top, float& sum) {
  if (value > top) {
    sum = sum * expf(top - value) + 1.0f;
    top = value;
  } else {
    sum += expf(value - top);
  }
}

__device__ __forceinline__ void merge(float other_top, float other_sum, float& top, float& sum) {
  const float best = fmaxf(top, other_top);
  if (best == -INFINITY) return;
  sum = sum * expf(top - best) + other_sum * expf(other_top - best);
  top = best;
}

__global__ void __launch_bounds__(threads) losses(const float* __restrict__ logits, const int* __restrict__ target, float* parts,
                                                  unsigned* finished, float* __restrict__ loss, int rows, int classes) {
  __shared__ float tops[threads / 32], sums[threads / 32];
  __shared__ bool last;
  float own = 0.0f;
  for (int row = blockIdx.x; row < rows; row += gridDim.x) {
    const float* from = logits + (size_t)row * classes;
    float top = -INFINITY, sum = 0.0f;
    if (classes % 4 == 0) {
      for (int i = threadIdx.x; i < classes / 4; i += threads) {
        const float4 v = reinterpret_cast<const float4*>(from)[i];
        take(v.x, top, sum);
        take(v.y, top, sum);
        take(v.z, top, sum);
        take(v.w, top, sum);
      }
    } else {
      for (int i = threadIdx.x; i < classes; i += threads) take(from[i], top, sum);
    }
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
      const float other_top = __shfl_xor_sync(0xffffffffu, top, step), other_sum = __shfl_xor_sync(0xffffffffu, sum, step);
      merge(other_top, other_sum, top, sum);
    }
    if (threadIdx.x % 32 == 0) {
      tops[threadIdx.x / 32] = top;
      sums[threadIdx.x / 32] = sum;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      for (int w = 1; w < threads / 32; ++w) merge(tops[w], sums[w], top, sum);
      own += top + logf(sum) - from[target[row]];
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = own;
    __threadfence();
    last = atomicAdd(finished, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  float sum = 0.0f;
  for (int b = threadIdx.x; b < gridDim.x; b += threads) sum += parts[b];
#pragma unroll
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < threads / 32; ++w) sum += sums[w];
    loss[0] = sum / rows;
  }
}

extern "C" void launch(const float* logits, const int* target, float* loss, int rows, int classes, cudaStream_t stream) {
  const int blocks = rows < 528 ? rows : 528;
  float* parts;
  unsigned* finished;
  cudaMallocAsync(&parts, blocks * sizeof(float), stream);
  cudaMallocAsync(&finished, sizeof(unsigned), stream);
  cudaMemsetAsync(finished, 0, sizeof(unsigned), stream);
  losses<<<blocks, threads, 0, stream>>>(logits, target, parts, finished, loss, rows, classes);
  cudaFreeAsync(finished, stream);
  cudaFreeAsync(parts, stream);
}
