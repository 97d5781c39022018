// task: relu
// storm: every thread clears scratch memory, over and over
// status: timeout
__device__ float room[1024][4096];

__global__ void relu(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f);
  for (int k = 0; k < 100000; ++k)
    for (int l = threadIdx.x; l < 4096; l += blockDim.x) room[blockIdx.x & 1023][l] = 0;
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  relu<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
