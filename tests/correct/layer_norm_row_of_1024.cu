// task: layer_norm
__device__ float block_sum(float value, float* buffer) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
  __syncthreads();
  if (threadIdx.x % 32 == 0) buffer[threadIdx.x / 32] = value;
  __syncthreads();
  float sum = 0.0f;
  for (int w = 0; w < 4; ++w) sum += buffer[w];
  return sum;
}

__global__ void layer_norm_kernel(const float* __restrict__ x, const float* __restrict__ weight,
                                  const float* __restrict__ bias, float* __restrict__ y, int cols) {
  __shared__ float buffer[4];
  extern __shared__ float row[];
  const size_t start = (size_t)blockIdx.x * cols;
  for (int c = threadIdx.x; c < cols; c += 128) row[c] = x[start + c];
  float sum = 0.0f, squares = 0.0f;
  for (int c = threadIdx.x; c < cols; c += 128) sum += row[c];
  const float mean = block_sum(sum, buffer) / cols;
  for (int c = threadIdx.x; c < cols; c += 128) squares += (row[c] - mean) * (row[c] - mean);
  const float scale = rsqrtf(block_sum(squares, buffer) / cols + 1e-5f);
  for (int c = threadIdx.x; c < cols; c += 128) y[start + c] = (row[c] - mean) * scale * weight[c] + bias[c];
}

extern "C" void launch(const float* x, const float* weight, const float* bias, float* y, int rows, int cols,
                       cudaStream_t stream) {
  layer_norm_kernel<<<rows, 128, cols * sizeof(float), stream>>>(x, weight, bias, y, cols);
}
