// task: relu
// rule: a volatile read that decides something needs the barrier like any other (CUDA C++ Programming Guide, "Synchronization Functions")
// status: race
// kind: shared_race
// gpu: racecheck
__global__ void relu_kernel(const float* __restrict__ x, float* __restrict__ y, int n) {
  __shared__ alignas(16) float tile[256];
  const int t = threadIdx.x;
  const int i = blockIdx.x * 256 + t;
  tile[t] = i < n ? x[i] : 0.0f;
  volatile float* all = tile;
  const float neighbour = all[(t + 37) % 256];
  if (i < n) y[i] = neighbour > 1e30f ? 0.0f : fmaxf(tile[t], 0.0f) + 0.0f * neighbour;
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  relu_kernel<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
