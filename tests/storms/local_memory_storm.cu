// task: relu
// storm: a quarter of a megabyte of local memory a thread
// status: timeout|rejected|unsupported|launcher_error
__global__ void relu(const float* x, float* y, int n) {
  float room[60000];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < 100; ++k) room[(k * 577 + threadIdx.x) % 60000] = k;
  if (i < n) y[i] = room[(threadIdx.x + 577) % 60000] < -1.0f ? 3.0f : fmaxf(x[i], 0.0f);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  relu<<<(n + 255) / 256 + 2000, 1024, 0, stream>>>(x, y, n);
}
