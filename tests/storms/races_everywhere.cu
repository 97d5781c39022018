// task: relu
// storm: every store races
// status: race
__global__ void relu(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  __shared__ float room[32];
  for (int k = 0; k < 100000; ++k) room[k & 31] = threadIdx.x + k;
  __syncthreads();
  if (i < n) y[i] = fmaxf(x[i], room[0] < 0 ? 1.0f : 0.0f);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  relu<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
