// A block adds up in shared memory with shared atomics, then adds its 32 sums to the result.
constexpr int bins = 32;
constexpr int threads = 256;
constexpr int each = 16;  // values a thread

__global__ void add(const int* index, const int* value, int* total, int count) {
  __shared__ int sums[bins];
  if (threadIdx.x < bins) sums[threadIdx.x] = 0;
  __syncthreads();
  const int first = blockIdx.x * (threads * each) + threadIdx.x;
#pragma unroll
  for (int k = 0; k < each; ++k) {
    const int i = first + k * threads;
    if (i < count) atomicAdd(&sums[index[i]], value[i]);
  }
  __syncthreads();
  if (threadIdx.x < bins) atomicAdd(&total[threadIdx.x], sums[threadIdx.x]);
}

extern "C" void launch(const int* index, const int* value, int* total, int count, cudaStream_t stream) {
  cudaMemsetAsync(total, 0, bins * sizeof(int), stream);
  const int tile = threads * each;
  add<<<(count + tile - 1) / tile, threads, 0, stream>>>(index, value, total, count);
}
