// task: saxpy
// bug: the guard lets index n through
// kind: out_of_bounds
// status: fault
__global__ void saxpy_kernel(float alpha, const float* __restrict__ x, const float* __restrict__ y,
                             float* __restrict__ z, int n) {
  const int stride = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i <= n; i += stride)
    z[i] = fmaf(alpha, x[i], y[i]);  // BUG
}

extern "C" void launch(float alpha, const float* x, const float* y, float* z, int n, cudaStream_t stream) {
  const int threads = 128;
  const int blocks = (n + threads - 1) / threads;
  saxpy_kernel<<<blocks < 1024 ? blocks : 1024, threads, 0, stream>>>(alpha, x, y, z, n);
}
