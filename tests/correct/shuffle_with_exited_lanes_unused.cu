// task: relu
__global__ void relu_kernel(const float* __restrict__ x, float* __restrict__ y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned mask = __ballot_sync(0xffffffffu, i < n);
  if (i >= n) return;
  const float v = x[i];
  const float right = __shfl_down_sync(mask, v, 1);
  y[i] = fmaxf(v, 0.0f) + (v != v ? right : 0.0f);
}
extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  relu_kernel<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
