// task: segment_sum
// bug: rows of the same segment are added by different blocks without an atomic operation
// kind: global_race
// status: race
__global__ void segment_kernel(const float* __restrict__ x, const int* __restrict__ segment, float* __restrict__ y,
                               int cols) {
  const int row = blockIdx.x;
  float* out = y + (size_t)segment[row] * cols;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) out[c] += x[(size_t)row * cols + c];  // BUG
}

extern "C" void launch(const float* x, const int* segment, float* y, int rows, int cols, int segments,
                       cudaStream_t stream) {
  cudaMemsetAsync(y, 0, (size_t)segments * cols * sizeof(float), stream);
  segment_kernel<<<rows, 64, 0, stream>>>(x, segment, y, cols);
}
