// task: full_max
__global__ void first(const float* __restrict__ x, float* y) { y[0] = x[0]; }

__global__ void max_kernel(const float* __restrict__ x, float* y, int n) {
  float best = x[0];
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) best = fmaxf(best, x[i]);
  for (int step = 16; step > 0; step /= 2) best = fmaxf(best, __shfl_xor_sync(0xffffffffu, best, step));
  if (threadIdx.x == 0) {
    if (best >= 0.0f) atomicMax((int*)y, __float_as_int(best));
    else atomicMin((unsigned*)y, __float_as_uint(best));
  }
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  first<<<1, 1, 0, stream>>>(x, y);
  max_kernel<<<64, 32, 0, stream>>>(x, y, n);
}
