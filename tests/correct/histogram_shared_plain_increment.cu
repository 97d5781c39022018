// task: histogram
__global__ void histogram_kernel(const int* __restrict__ x, int* __restrict__ counts, int count, int bins) {
  extern __shared__ int local[];
  for (int b = threadIdx.x; b < bins; b += blockDim.x) local[b] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    atomicAdd(&local[x[i]], 1);
  __syncthreads();
  for (int b = threadIdx.x; b < bins; b += blockDim.x) atomicAdd(&counts[b], local[b]);
}

extern "C" void launch(const int* x, int* counts, int count, int bins, cudaStream_t stream) {
  cudaMemsetAsync(counts, 0, bins * sizeof(int), stream);
  histogram_kernel<<<16, 256, bins * sizeof(int), stream>>>(x, counts, count, bins);
}
