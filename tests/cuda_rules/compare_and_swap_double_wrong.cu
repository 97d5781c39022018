// task: full_sum
// rule: a sum that others still add to is no result (PTX ISA 9.0, 8.7.1 "Conflict and data-races")
// status: race
// kind: global_race
// gpu: values
__device__ void atomic_add(double* address, double value) {
  unsigned long long* word = (unsigned long long*)address;
  unsigned long long old = *word, assumed;
  do {
    assumed = old;
    old = atomicCAS(word, assumed, __double_as_longlong(value + __longlong_as_double(assumed)));
  } while (assumed != old);
}

__global__ void sum_kernel(const float* __restrict__ x, double* total, float* y, int n) {
  double sum = 0.0;
  for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += gridDim.x * 64) sum += x[i];
  atomic_add(total, sum);
  if (blockIdx.x == gridDim.x - 1 && threadIdx.x == 63) y[0] = (float)*total;
}

__global__ void finish(const double* __restrict__ total, float* y) { y[0] = (float)*total; }

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  double* total;
  cudaMallocAsync(&total, sizeof(double), stream);
  cudaMemsetAsync(total, 0, sizeof(double), stream);
  sum_kernel<<<24, 64, 0, stream>>>(x, total, y, n);
  cudaFreeAsync(total, stream);
}
