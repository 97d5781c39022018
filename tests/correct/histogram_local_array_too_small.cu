// task: histogram
__global__ void histogram_kernel(const int* __restrict__ x, int* __restrict__ counts, int count, int bins) {
  int own[16];
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  for (int first = 0; first < bins; first += 16) {
    for (int b = 0; b < 16; ++b) own[b] = 0;
    for (int i = t; i < count; i += gridDim.x * blockDim.x)
      if (x[i] >= first && x[i] < first + 16) ++own[x[i] - first];
    for (int b = 0; b < 16; ++b)
      if (own[b] != 0) atomicAdd(&counts[first + b], own[b]);
  }
}

extern "C" void launch(const int* x, int* counts, int count, int bins, cudaStream_t stream) {
  cudaMemsetAsync(counts, 0, bins * sizeof(int), stream);
  histogram_kernel<<<512, 256, 0, stream>>>(x, counts, count, bins);
}
