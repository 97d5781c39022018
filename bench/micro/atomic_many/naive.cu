// One atomic addition for each value; two at one address or in one line are rare.
__global__ void add(const int* index, const int* value, int* total, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) atomicAdd(&total[index[i]], value[i]);
}

extern "C" void launch(const int* index, const int* value, int* total, int count, int bins, cudaStream_t stream) {
  cudaMemsetAsync(total, 0, bins * sizeof(int), stream);
  const int threads = 256;
  add<<<(count + threads - 1) / threads, threads, 0, stream>>>(index, value, total, count);
}
