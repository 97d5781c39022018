// task: saxpy
// honest: min(n / 1024, 132 * 8) blocks, a loop with eight float4 in flight while that many are left, then one at a time, then the tail.
__global__ void __launch_bounds__(256) saxpy_kernel(float alpha, const float* __restrict__ x, const float* __restrict__ y,
                                                    float* __restrict__ z, int n) {
  const float4* x4 = reinterpret_cast<const float4*>(x);
  const float4* y4 = reinterpret_cast<const float4*>(y);
  float4* z4 = reinterpret_cast<float4*>(z);
  const int vectors = n / 4, stride = gridDim.x * 256, self = blockIdx.x * 256 + threadIdx.x;
  int i = self;
  for (; i + 7 * stride < vectors; i += 8 * stride) {
    float4 u[8], v[8];
#pragma unroll
    for (int e = 0; e < 8; ++e) {
      u[e] = x4[i + e * stride];
      v[e] = y4[i + e * stride];
    }
#pragma unroll
    for (int e = 0; e < 8; ++e) {
      z4[i + e * stride] = make_float4(fmaf(alpha, u[e].x, v[e].x), fmaf(alpha, u[e].y, v[e].y), fmaf(alpha, u[e].z, v[e].z),
                                       fmaf(alpha, u[e].w, v[e].w));
    }
  }
  for (; i < vectors; i += stride) {
    const float4 u = x4[i], v = y4[i];
    z4[i] = make_float4(fmaf(alpha, u.x, v.x), fmaf(alpha, u.y, v.y), fmaf(alpha, u.z, v.z), fmaf(alpha, u.w, v.w));
  }
  for (int t = vectors * 4 + self; t < n; t += stride) z[t] = fmaf(alpha, x[t], y[t]);
}

extern "C" void launch(float alpha, const float* x, const float* y, float* z, int n, cudaStream_t stream) {
  int blocks = n / 1024;
  if (blocks > 132 * 8) blocks = 132 * 8;
  if (blocks < 1) blocks = 1;
  saxpy_kernel<<<blocks, 256, 0, stream>>>(alpha, x, y, z, n);
}
