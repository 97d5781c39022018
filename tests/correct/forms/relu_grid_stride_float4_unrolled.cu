// task: relu
// honest: grid-stride loop over float4 with at most 4096 blocks, four vectors in flight when that many are left, scalar tail.
__device__ __forceinline__ float4 relu4(float4 v) {
  return make_float4(fmaxf(v.x, 0.0f), fmaxf(v.y, 0.0f), fmaxf(v.z, 0.0f), fmaxf(v.w, 0.0f));
}

__global__ void __launch_bounds__(256) relu_kernel(const float4* __restrict__ x4, float4* __restrict__ y4, const float* __restrict__ x,
                                                   float* __restrict__ y, int vectors, int n) {
  const int stride = gridDim.x * 256;
  int i = blockIdx.x * 256 + threadIdx.x;
  for (; i < vectors - 3 * stride; i += 4 * stride) {
    const float4 a = x4[i], b = x4[i + stride], c = x4[i + 2 * stride], d = x4[i + 3 * stride];
    y4[i] = relu4(a);
    y4[i + stride] = relu4(b);
    y4[i + 2 * stride] = relu4(c);
    y4[i + 3 * stride] = relu4(d);
  }
  for (; i < vectors; i += stride) y4[i] = relu4(x4[i]);
  const int tail = vectors * 4 + blockIdx.x * 256 + threadIdx.x;
  if (tail < n) y[tail] = fmaxf(x[tail], 0.0f);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  const int vectors = n / 4;
  int blocks = (vectors + 255) / 256;
  if (blocks > 4096) blocks = 4096;
  if (blocks < 1) blocks = 1;
  relu_kernel<<<blocks, 256, 0, stream>>>(reinterpret_cast<const float4*>(x), reinterpret_cast<float4*>(y), x, y, vectors, n);
}
