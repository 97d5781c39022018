// task: cross_entropy_rows
// bug: one block in y for each row: more than 65535 rows, as in one of the timed sizes, cannot be launched
// kind: launcher_error|launch_error
// status: launcher_error
__global__ void cross_entropy_kernel(const float* __restrict__ logits, const int* __restrict__ target,
                                     float* __restrict__ loss, int classes) {
  const int row = blockIdx.y;
  const float* in = logits + (size_t)row * classes;
  float top = in[0], sum = 0.0f;
  for (int c = threadIdx.x; c < classes; c += 32) top = fmaxf(top, in[c]);
  for (int step = 16; step > 0; step /= 2) top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, step));
  for (int c = threadIdx.x; c < classes; c += 32) sum += expf(in[c] - top);
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  if (threadIdx.x == 0) loss[row] = logf(sum) + top - in[target[row]];
}

extern "C" void launch(const float* logits, const int* target, float* loss, int rows, int classes,
                       cudaStream_t stream) {
  cross_entropy_kernel<<<dim3(1, rows), 32, 0, stream>>>(logits, target, loss, classes);  // BUG
}
