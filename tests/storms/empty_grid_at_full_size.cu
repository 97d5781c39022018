// task: relu
// storm: the huge grid is launched at full size only
// status: correct|timeout|wrong|unsupported
__global__ void relu(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f);
}

__global__ void nothing() {}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  if (n > 1000000) nothing<<<2147483647, 1024, 0, stream>>>();
  relu<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
