// task: full_max
// rule: what is swapped in must be made from the value that is compared (CUDA C++ Programming Guide, "Atomic Functions")
// status: race
// kind: global_race
// gpu: values
__device__ float atomic_max(float* address, float value) {
  int* word = (int*)address;
  const int seen = *word;
  const int old = atomicExch(word, __float_as_int(fmaxf(value, __int_as_float(seen))));
  return __int_as_float(old);
}

__global__ void first(const float* __restrict__ x, float* y) { y[0] = x[0]; }

__global__ void max_kernel(const float* __restrict__ x, float* y, int n) {
  float best = x[0];
  for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += gridDim.x * 64) best = fmaxf(best, x[i]);
  atomic_max(y, best);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  first<<<1, 1, 0, stream>>>(x, y);
  max_kernel<<<32, 64, 0, stream>>>(x, y, n);
}
