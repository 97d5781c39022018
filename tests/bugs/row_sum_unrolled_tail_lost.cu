// task: row_sum
// bug: the loop unrolled by four forgets the columns that are left over
// kind: wrong_result
// status: wrong
__global__ void row_sum_kernel(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
  const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  if (row >= rows) return;
  const float* in = x + (size_t)row * cols;
  float s0 = 0.0f, s1 = 0.0f, s2 = 0.0f, s3 = 0.0f;
  int c = lane;
  for (; c + 96 < cols; c += 128) {  // BUG
    s0 += in[c];
    s1 += in[c + 32];
    s2 += in[c + 64];
    s3 += in[c + 96];
  }
  float sum = (s0 + s1) + (s2 + s3);
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
  if (lane == 0) y[row] = sum;  // BUG
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  row_sum_kernel<<<(rows + 3) / 4, 128, 0, stream>>>(x, y, rows, cols);
}
