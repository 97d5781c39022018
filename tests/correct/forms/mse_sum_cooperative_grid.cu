// task: mse_sum
// honest: cooperative launch of two blocks a multiprocessor, four float4 pairs in flight, the grid meets once before block 0 adds up.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

constexpr int threads = 512;

__device__ float block_sum(float value) {
  __shared__ float slots[threads / 32];
#pragma unroll
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
  __syncthreads();
  if (threadIdx.x % 32 == 0) slots[threadIdx.x / 32] = value;
  __syncthreads();
  value = 0.0f;
#pragma unroll
  for (int w = 0; w < threads / 32; ++w) value += slots[w];
  return value;
}

__device__ __forceinline__ float squares(float4 a, float4 b) {
  const float x = a.x - b.x, y = a.y - b.y, z = a.z - b.z, w = a.w - b.w;
  return (x * x + y * y) + (z * z + w * w);
}

__global__ void __launch_bounds__(threads, 2) mse(const float* __restrict__ x, const float* __restrict__ target, float* parts,
                                                  float* __restrict__ loss, int count) {
  cg::grid_group grid = cg::this_grid();
  const float4* x4 = reinterpret_cast<const float4*>(x);
  const float4* t4 = reinterpret_cast<const float4*>(target);
  const int vectors = count / 4, stride = gridDim.x * threads, self = blockIdx.x * threads + threadIdx.x;
  float sum = 0.0f;
  int i = self;
  for (; i + 3 * stride < vectors; i += 4 * stride) {
    float4 a[4], b[4];
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      a[e] = x4[i + e * stride];
      b[e] = t4[i + e * stride];
    }
#pragma unroll
    for (int e = 0; e < 4; ++e) sum += squares(a[e], b[e]);
  }
  for (; i < vectors; i += stride) sum += squares(x4[i], t4[i]);
  if (self < count - vectors * 4) {
    const float away = x[vectors * 4 + self] - target[vectors * 4 + self];
    sum += away * away;
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) parts[blockIdx.x] = sum;
  grid.sync();
  if (blockIdx.x == 0) {
    float total = 0.0f;
    for (int b = threadIdx.x; b < gridDim.x; b += threads) total += parts[b];
    total = block_sum(total);
    if (threadIdx.x == 0) loss[0] = total;
  }
}

extern "C" void launch(const float* x, const float* target, float* loss, int count, cudaStream_t stream) {
  int device = 0, processors = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  const int wanted = (count / 4 + threads - 1) / threads, most = 2 * processors;
  const int blocks = wanted < 1 ? 1 : wanted < most ? wanted : most;
  float* parts;
  cudaMallocAsync(&parts, blocks * sizeof(float), stream);
  void* arguments[] = {&x, &target, &parts, &loss, &count};
  cudaLaunchCooperativeKernel((void*)mse, dim3(blocks), dim3(threads), arguments, 0, stream);
  cudaFreeAsync(parts, stream);
}
