// task: softmax
template <int kBlock>
__global__ void sm(const float* __restrict__ x, float* __restrict__ y, const int cols) {
  __shared__ float sh[kBlock];
  const float* in = x + (long long)blockIdx.x * cols;
  float* out = y + (long long)blockIdx.x * cols;
  float m = -INFINITY;
  for (int i = threadIdx.x; i < cols; i += kBlock) m = max(m, in[i]);
  sh[threadIdx.x] = m;
  __syncthreads();
  for (int o = kBlock >> 1; o > 0; o >>= 1) {
    if (threadIdx.x < o) sh[threadIdx.x] = fmaxf(sh[threadIdx.x], sh[threadIdx.x + o]);
    __syncthreads();
  }
  m = sh[0];
  __syncthreads();
  float s = 0.f;
  for (int i = threadIdx.x; i < cols; i += kBlock) s += std::exp(in[i] - m);
  sh[threadIdx.x] = s;
  __syncthreads();
  for (int o = kBlock >> 1; o > 0; o >>= 1) {
    if (threadIdx.x < o) sh[threadIdx.x] += sh[threadIdx.x + o];
    __syncthreads();
  }
  s = sh[0];
  for (int i = threadIdx.x; i < cols; i += kBlock) out[i] = std::exp(in[i] - m) / s;
}
template <int kBlock>
void launch_softmax(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  sm<kBlock><<<rows, kBlock, 0, stream>>>(x, y, cols);
}
extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  if (cols <= 128)
    launch_softmax<128>(x, y, rows, cols, stream);
  else
    launch_softmax<256>(x, y, rows, cols, stream);
}
