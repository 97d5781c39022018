// task: relu
// storm: 200 MB of device variables
// status: correct|timeout|rejected|unsupported
__device__ float room[50 << 20];

__global__ void relu(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f);
  if (n < 0) room[i] = 1;
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  relu<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
