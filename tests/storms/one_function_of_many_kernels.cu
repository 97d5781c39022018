// task: relu
// storm: a large function that each of many kernels calls, and has its own copy of
// status: timeout|correct|rejected|unsupported
__device__ __noinline__ float large(float v, const float* x, int n) {
#pragma unroll
  for (int k = 0; k < 3000; ++k) v = __fmaf_rn(v, 0.5f + k, x[k % n]);
  return v;
}

template <int K>
__global__ void relu(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = n < 0 ? large(K, x, n) : 0.0f;
  y[i] = fmaxf(x[i], v);
}

template <int K>
void launch_all(const float* x, float* y, int n, cudaStream_t stream) {
  relu<K><<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  if constexpr (K > 0) launch_all<K - 1>(x, y, n, stream);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  launch_all<60>(x, y, n, stream);
}
