// One block a row, 16 native atomics for each value that is read.
constexpr int bins = 32;
constexpr int cols = 1024;
constexpr int rounds = 16;

__global__ void add(const int* index, const int* value, int* total) {
  __shared__ int sums[bins];
  if (threadIdx.x < bins) sums[threadIdx.x] = 0;
  __syncthreads();
  const size_t row = static_cast<size_t>(blockIdx.x) * cols;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) {
    const int bin = index[row + c];
    const int v = value[row + c];
#pragma unroll
    for (int k = 0; k < rounds; ++k) atomicAdd(&sums[(bin + 7 * k) % bins], v);
  }
  __syncthreads();
  if (threadIdx.x < bins) total[static_cast<size_t>(blockIdx.x) * bins + threadIdx.x] = sums[threadIdx.x];
}

extern "C" void launch(const int* index, const int* value, int* total, int rows, cudaStream_t stream) {
  add<<<rows, 256, 0, stream>>>(index, value, total);
}
