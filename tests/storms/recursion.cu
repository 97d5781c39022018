// task: relu
// storm: a function that calls itself, twice
// status: timeout|fault|unsupported
__device__ __noinline__ float descend(float v, int depth) {
  if (depth == 0) return v;
  return descend(v * 0.5f, depth - 1) + descend(v + 1.0f, depth - 1);
}

__global__ void relu(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float v = descend(i < n ? x[i] : 0.0f, 40);
  if (i < n) y[i] = fmaxf(x[i], v == 1234.5f ? 1.0f : 0.0f);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  relu<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
