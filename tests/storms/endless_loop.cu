// task: relu
// storm: a loop that does not end
// status: timeout
__global__ void relu(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = x[0];
  while (v < 1e30f) v = v * 0.5f;
  if (i < n) y[i] = v;
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  relu<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
