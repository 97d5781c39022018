// task: relu
// storm: calls through a table of pointers, another one for each lane
// status: timeout|unsupported
__device__ __noinline__ float one(float v) { return v * 0.5f; }
__device__ __noinline__ float two(float v) { return v + 1.0f; }
__device__ __noinline__ float three(float v) { return v * v; }
__device__ __noinline__ float four(float v) { return -v; }
__device__ float (*table[4])(float) = {one, two, three, four};

__global__ void relu(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = i < n ? x[i] : 0.0f;
  for (int k = 0; k < 1000000; ++k) v = table[(threadIdx.x + k) & 3](v);
  if (i < n) y[i] = fmaxf(x[i], v == 1234.5f ? 1.0f : 0.0f);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  relu<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
