// task: relu
// storm: stores of single bytes all over large memory
// status: timeout
__device__ char room[50 << 20];

__global__ void relu(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < 2000; ++k) room[(k * 65537ull + i) % (50u << 20)] = 1;
  if (i < n) y[i] = fmaxf(x[i], 0.0f);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  relu<<<(n + 255) / 256 + 400, 256, 0, stream>>>(x, y, n);
}
