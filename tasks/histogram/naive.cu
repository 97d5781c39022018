// One thread counts one value.
__global__ void count_values(const int* x, int* counts, int count, int bins) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  int bin = x[i];
  if (bin >= 0 && bin < bins) atomicAdd(&counts[bin], 1);
}

extern "C" void launch(const int* x, int* counts, int count, int bins, cudaStream_t stream) {
  cudaMemsetAsync(counts, 0, bins * sizeof(int), stream);
  constexpr int kThreads = 256;
  count_values<<<(count + kThreads - 1) / kThreads, kThreads, 0, stream>>>(x, counts, count, bins);
}
