// task: relu
// bug: the block's number is kept in 16 bits and wraps around at the timed sizes, which have more than 65536 blocks
// kind: unwritten_output|global_race|same_value_race
// status: wrong|race
__global__ void relu_kernel(const float* __restrict__ x, float* __restrict__ y, int n) {
  const unsigned short block = blockIdx.x;  // BUG
  const int i = block * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f);  // BUG
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  relu_kernel<<<(n + 127) / 128, 128, 0, stream>>>(x, y, n);  // BUG
}
