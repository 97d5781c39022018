// task: histogram
// rule: 16-bit counters in shared memory, by compare-and-swap on the word that holds two of them (CUDA C++ Programming Guide, "Atomic Functions")
// status: correct
// gpu: values
__device__ void count(unsigned short* address) {
  unsigned* word = (unsigned*)((size_t)address & ~(size_t)2);
  const int shift = ((size_t)address & 2) ? 16 : 0;
  unsigned old = *word, assumed;
  do {
    assumed = old;
    const unsigned next = ((assumed >> shift) + 1) & 0xffffu;
    old = atomicCAS(word, assumed, (assumed & ~(0xffffu << shift)) | (next << shift));
  } while (assumed != old);
}

__global__ void histogram_kernel(const int* __restrict__ x, int* __restrict__ counts, int length, int bins) {
  extern __shared__ unsigned short local[];
  for (int first = blockIdx.x * 16384; first < length; first += gridDim.x * 16384) {
    for (int b = threadIdx.x; b < bins + 1; b += blockDim.x) local[b] = 0;
    __syncthreads();
    for (int i = first + threadIdx.x; i < min(first + 16384, length); i += blockDim.x) count(&local[x[i]]);
    __syncthreads();
    for (int b = threadIdx.x; b < bins; b += blockDim.x) atomicAdd(&counts[b], (int)local[b]);
    __syncthreads();
  }
}

extern "C" void launch(const int* x, int* counts, int count, int bins, cudaStream_t stream) {
  cudaMemsetAsync(counts, 0, bins * sizeof(int), stream);
  histogram_kernel<<<16, 128, (bins + 2) / 2 * 2 * sizeof(unsigned short), stream>>>(x, counts, count, bins);
}
