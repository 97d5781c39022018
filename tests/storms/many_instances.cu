// task: relu
// storm: hundreds of instances of a template, each launched
// status: timeout|correct|compile_error|launcher_error|unsupported
template <int K>
__global__ void relu(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], K < 0 ? 1.0f : 0.0f);
}

template <int K>
void launch_all(const float* x, float* y, int n, cudaStream_t stream) {
  relu<K><<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  if constexpr (K > 0) launch_all<K - 1>(x, y, n, stream);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  launch_all<50>(x, y, n, stream);
}
