// task: cross_entropy_rows
// bug: the probability is computed first and may underflow to 0, whose logarithm is infinite
// kind: not_finite
// status: wrong
__global__ void cross_entropy_kernel(const float* __restrict__ logits, const int* __restrict__ target,
                                     float* __restrict__ loss, int rows, int classes) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  const float* in = logits + (size_t)row * classes;
  float top = in[0];
  for (int c = threadIdx.x; c < classes; c += 32) top = fmaxf(top, in[c]);
  for (int step = 16; step > 0; step /= 2) top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, step));
  float sum = 0.0f;
  for (int c = threadIdx.x; c < classes; c += 32) sum += expf(in[c] - top);
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  if (threadIdx.x == 0) loss[row] = -logf(expf(in[target[row]] - top) / sum);  // BUG
}

extern "C" void launch(const float* logits, const int* target, float* loss, int rows, int classes,
                       cudaStream_t stream) {
  cross_entropy_kernel<<<(rows + 3) / 4, dim3(32, 4), 0, stream>>>(logits, target, loss, rows, classes);
}
