// task: softmax
// bug: thread 0 adds up what the warps have stored without waiting for them
// kind: shared_race
// status: race
__device__ float warp_sum(float value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
  return value;
}

__global__ void softmax_kernel(const float* __restrict__ x, float* __restrict__ y, int cols) {
  __shared__ float partial[8];
  __shared__ float total;
  const float* in = x + blockIdx.x * cols;
  float* out = y + blockIdx.x * cols;
  float top = -INFINITY;
  for (int c = 0; c < cols; ++c) top = fmaxf(top, in[c]);
  float sum = 0.0f;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) sum += expf(in[c] - top);
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;  // BUG
  if (threadIdx.x == 0) {
    float all = 0.0f;
    for (int w = 0; w < 8; ++w) all += partial[w];  // BUG
    total = all;
  }
  __syncthreads();
  for (int c = threadIdx.x; c < cols; c += blockDim.x) out[c] = expf(in[c] - top) / total;
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  softmax_kernel<<<rows, 256, 0, stream>>>(x, y, cols);
}
