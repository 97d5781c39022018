// task: histogram
// bug: the binary search keeps the middle as its lower end and never gets past two candidates
// kind: endless_loop
// status: timeout
__global__ void histogram_kernel(const int* __restrict__ x, int* __restrict__ counts, int count, int bins) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const int value = x[i];
  int low = 0, high = bins;
  while (high - low > 1) {  // BUG
    const int middle = (low + high) / 2;  // BUG
    if (middle < value) low = middle;  // BUG
    else if (middle > value) high = middle;  // BUG
  }
  atomicAdd(&counts[low], 1);
}

extern "C" void launch(const int* x, int* counts, int count, int bins, cudaStream_t stream) {
  cudaMemsetAsync(counts, 0, bins * sizeof(int), stream);
  histogram_kernel<<<(count + 127) / 128, 128, 0, stream>>>(x, counts, count, bins);
}
