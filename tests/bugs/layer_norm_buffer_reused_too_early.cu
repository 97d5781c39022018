// task: layer_norm
// bug: the second reduction stores into the shared buffer while slower warps still read the first one's result
// kind: shared_race
// status: race
__device__ float block_sum(float value, float* buffer) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
  if (threadIdx.x % 32 == 0) buffer[threadIdx.x / 32] = value;  // BUG
  __syncthreads();
  float sum = 0.0f;
  for (int w = 0; w < blockDim.x / 32; ++w) sum += buffer[w];  // BUG
  return sum;
}

__global__ void layer_norm_kernel(const float* __restrict__ x, const float* __restrict__ weight,
                                  const float* __restrict__ bias, float* __restrict__ y, int cols) {
  __shared__ float buffer[8];
  const float* in = x + (size_t)blockIdx.x * cols;
  float* out = y + (size_t)blockIdx.x * cols;
  float sum = 0.0f;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) sum += in[c];
  const float mean = block_sum(sum, buffer) / cols;
  float squares = 0.0f;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) squares += (in[c] - mean) * (in[c] - mean);
  const float scale = rsqrtf(block_sum(squares, buffer) / cols + 1e-5f);
  for (int c = threadIdx.x; c < cols; c += blockDim.x) out[c] = (in[c] - mean) * scale * weight[c] + bias[c];
}

extern "C" void launch(const float* x, const float* weight, const float* bias, float* y, int rows, int cols,
                       cudaStream_t stream) {
  layer_norm_kernel<<<rows, 256, 0, stream>>>(x, weight, bias, y, cols);
}
