// task: layer_norm
// bug: the copy of the row in shared memory is filled only for the first blockDim.x columns
// kind: uninitialised_output
// status: fault
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
  extern __shared__ float row[];
  __shared__ float buffer[4];
  const size_t start = (size_t)blockIdx.x * cols;
  if (threadIdx.x < cols) row[threadIdx.x] = x[start + threadIdx.x];  // BUG
  __syncthreads();
  float sum = 0.0f;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) sum += row[c];
  const float mean = block_sum(sum, buffer) / cols;
  float squares = 0.0f;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) squares += (row[c] - mean) * (row[c] - mean);
  const float scale = rsqrtf(block_sum(squares, buffer) / cols + 1e-5f);
  for (int c = threadIdx.x; c < cols; c += blockDim.x)
    y[start + c] = (row[c] - mean) * scale * weight[c] + bias[c];  // BUG
}

extern "C" void launch(const float* x, const float* weight, const float* bias, float* y, int rows, int cols,
                       cudaStream_t stream) {
  layer_norm_kernel<<<rows, 128, cols * sizeof(float), stream>>>(x, weight, bias, y, cols);
}
