// task: relu
// rule: a volatile read that is not used changes nothing (PTX ISA 9.0, 8.7.1 "Conflict and data-races")
// status: correct
// gpu: racecheck (racecheck reports reads, used or not)
__global__ void relu_kernel(const float* __restrict__ x, float* __restrict__ y, int n) {
  __shared__ alignas(16) float tile[256];
  const int t = threadIdx.x;
  const int i = blockIdx.x * 256 + t;
  tile[t] = i < n ? x[i] : 0.0f;
  volatile float* all = tile;
  const float neighbour = all[(t + 37) % 256];
  const float own = i >= n ? neighbour : tile[t];
  if (i < n) y[i] = fmaxf(own, 0.0f);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  relu_kernel<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
