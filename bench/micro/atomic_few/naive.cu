// One atomic addition for each value; all addresses are in one line of the L2.
__global__ void add(const int* index, const int* value, int* total, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) atomicAdd(&total[index[i]], value[i]);
}

extern "C" void launch(const int* index, const int* value, int* total, int count, cudaStream_t stream) {
  cudaMemsetAsync(total, 0, 32 * sizeof(int), stream);
  const int threads = 256;
  add<<<(count + threads - 1) / threads, threads, 0, stream>>>(index, value, total, count);
}
