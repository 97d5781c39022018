// task: histogram
// bug: a thread's own counters hold 16 bins, whatever the number of bins is
// kind: out_of_bounds
// status: fault
__global__ void histogram_kernel(const int* __restrict__ x, int* __restrict__ counts, int count, int bins) {
  int own[16];
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  {
    const int first = 0;
    const int last = bins;
    for (int b = first; b < last; ++b) own[b] = 0;  // BUG
    for (int i = t; i < count; i += gridDim.x * blockDim.x) ++own[x[i]];  // BUG
    for (int b = first; b < last; ++b)
      if (own[b] != 0) atomicAdd(&counts[b], own[b]);  // BUG
  }
}

extern "C" void launch(const int* x, int* counts, int count, int bins, cudaStream_t stream) {
  cudaMemsetAsync(counts, 0, bins * sizeof(int), stream);
  histogram_kernel<<<4, 64, 0, stream>>>(x, counts, count, bins);
}
