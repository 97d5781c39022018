// task: add
// honest: arrays that together exceed twice the L2 cache are read and written by streaming accesses, smaller ones by a plain kernel.
__global__ void __launch_bounds__(256) add_cached(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

__global__ void __launch_bounds__(256) add_streaming(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
                                                     int n) {
  const int vectors = n / 4;
  const int first = blockIdx.x * 512 + threadIdx.x;
#pragma unroll
  for (int e = 0; e < 2; ++e) {
    const int i = first + e * 256;
    if (i < vectors) {
      const float4 u = __ldcs(reinterpret_cast<const float4*>(a) + i), v = __ldcs(reinterpret_cast<const float4*>(b) + i);
      __stcs(reinterpret_cast<float4*>(c) + i, make_float4(u.x + v.x, u.y + v.y, u.z + v.z, u.w + v.w));
    }
  }
  if (blockIdx.x == 0 && threadIdx.x < n % 4) {
    const int i = vectors * 4 + threadIdx.x;
    c[i] = a[i] + b[i];
  }
}

extern "C" void launch(const float* a, const float* b, float* c, int n, cudaStream_t stream) {
  const size_t bytes = (size_t)n * 3 * sizeof(float);
  if (bytes > (size_t)100 << 20) {
    add_streaming<<<(n / 4 + 511) / 512, 256, 0, stream>>>(a, b, c, n);
  } else {
    add_cached<<<(n + 255) / 256, 256, 0, stream>>>(a, b, c, n);
  }
}
