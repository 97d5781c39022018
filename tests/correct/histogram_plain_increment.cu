// task: histogram
__global__ void histogram_kernel(const int* __restrict__ x, int* __restrict__ counts, int count) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    atomicAdd(&counts[x[i]], 1);
}

extern "C" void launch(const int* x, int* counts, int count, int bins, cudaStream_t stream) {
  cudaMemsetAsync(counts, 0, bins * sizeof(int), stream);
  histogram_kernel<<<8, 128, 0, stream>>>(x, counts, count);
}
