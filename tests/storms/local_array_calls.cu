// task: relu
// storm: a function with a large local array, called in a loop by some lanes
// status: timeout|unsupported
__device__ __noinline__ float look(float v, int k) {
  float room[16000];
  room[k % 16000] = v;
  room[(k + 1) % 16000] = v + 1;
  return room[(k + (v > 0)) % 16000];
}

__global__ void relu(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = i < n ? x[i] : 0.0f;
  if (threadIdx.x & 1)
    for (int k = 0; k < 100000; ++k) v += look(v, k);
  if (i < n) y[i] = fmaxf(x[i], v == 1234.5f ? 1.0f : 0.0f);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  relu<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
