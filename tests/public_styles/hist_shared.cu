// task: histogram
__global__ void hist(const int* __restrict__ in, int* __restrict__ out, int n, int bins) {
  extern __shared__ uint sbins[];
  for (int b = threadIdx.x; b < bins; b += blockDim.x) sbins[b] = 0u;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
    int v = in[i];
    if ((uint)v < (uint)bins) atomicAdd(&sbins[v], 1u);
  }
  __syncthreads();
  for (int b = threadIdx.x; b < bins; b += blockDim.x) atomicAdd((uint*)&out[b], sbins[b]);
}
extern "C" void launch(const int* x, int* counts, int count, int bins, cudaStream_t stream) {
  cudaMemsetAsync(counts, 0, (size_t)bins * sizeof(*counts), stream);
  const uint blocks = std::max(1u, std::min(256u, uint(count + 255) / 256u));
  hist<<<blocks, 256, bins * sizeof(uint), stream>>>(x, counts, count, bins);
}
