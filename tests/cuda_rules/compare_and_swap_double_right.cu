// task: full_sum
// rule: the guide's atomicAdd for double: the first read is a guess that the swap checks (CUDA C++ Programming Guide, "Atomic Functions")
// status: correct
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
}

__global__ void finish(const double* __restrict__ total, float* y) { y[0] = (float)*total; }

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  double* total;
  cudaMallocAsync(&total, sizeof(double), stream);
  cudaMemsetAsync(total, 0, sizeof(double), stream);
  sum_kernel<<<24, 64, 0, stream>>>(x, total, y, n);
  finish<<<1, 1, 0, stream>>>(total, y);
  cudaFreeAsync(total, stream);
}
