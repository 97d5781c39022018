// task: rms_norm
// bug: the second array in dynamic shared memory starts after an odd number of floats and is read as float4
// kind: misaligned
// status: fault
__global__ void rms_norm_kernel(const float* __restrict__ x, const float* __restrict__ weight, float* __restrict__ y,
                                int cols, int padded) {
  extern __shared__ __align__(16) float memory[];
  float* row = memory;
  float* squares = memory + cols;
  for (int c = threadIdx.x; c < cols; c += 64) row[c] = x[(size_t)blockIdx.x * cols + c];
  squares[threadIdx.x] = 0.0f;
  for (int c = threadIdx.x; c < cols; c += 64) squares[threadIdx.x] += row[c] * row[c];
  __syncthreads();
  float sum = 0.0f;
  for (int q = 0; q < 16; ++q) {
    const float4 four = reinterpret_cast<const float4*>(squares)[q];  // BUG
    sum += (four.x + four.y) + (four.z + four.w);
  }
  const float scale = rsqrtf(sum / cols + 1e-6f);
  for (int c = threadIdx.x; c < cols; c += 64) y[(size_t)blockIdx.x * cols + c] = row[c] * scale * weight[c];
}

extern "C" void launch(const float* x, const float* weight, float* y, int rows, int cols, cudaStream_t stream) {
  const int padded = (cols + 3) / 4 * 4;
  rms_norm_kernel<<<rows, 64, (padded + 64) * sizeof(float), stream>>>(x, weight, y, cols, padded);
}
