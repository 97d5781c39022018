// task: complex_mul
// honest: at most 132 * 16 blocks stride over the array with two float4 of every operand in flight, then one, then single elements.
__device__ __forceinline__ float4 real_part(float4 a, float4 b, float4 c, float4 d) {
  return make_float4(a.x * c.x - b.x * d.x, a.y * c.y - b.y * d.y, a.z * c.z - b.z * d.z, a.w * c.w - b.w * d.w);
}

__device__ __forceinline__ float4 imaginary_part(float4 a, float4 b, float4 c, float4 d) {
  return make_float4(a.x * d.x + b.x * c.x, a.y * d.y + b.y * c.y, a.z * d.z + b.z * c.z, a.w * d.w + b.w * c.w);
}

__global__ void __launch_bounds__(256) multiply(const float* __restrict__ a_re, const float* __restrict__ a_im,
                                                const float* __restrict__ b_re, const float* __restrict__ b_im,
                                                float* __restrict__ c_re, float* __restrict__ c_im, int n) {
  const float4 *ar = (const float4*)a_re, *ai = (const float4*)a_im, *br = (const float4*)b_re, *bi = (const float4*)b_im;
  float4 *cr = (float4*)c_re, *ci = (float4*)c_im;
  const int vectors = n / 4, stride = gridDim.x * 256, self = blockIdx.x * 256 + threadIdx.x;
  int i = self;
  while (i + stride < vectors) {
    const int j = i + stride;
    const float4 a0 = ar[i], b0 = ai[i], c0 = br[i], d0 = bi[i];
    const float4 a1 = ar[j], b1 = ai[j], c1 = br[j], d1 = bi[j];
    cr[i] = real_part(a0, b0, c0, d0);
    ci[i] = imaginary_part(a0, b0, c0, d0);
    cr[j] = real_part(a1, b1, c1, d1);
    ci[j] = imaginary_part(a1, b1, c1, d1);
    i = j + stride;
  }
  if (i < vectors) {
    const float4 a0 = ar[i], b0 = ai[i], c0 = br[i], d0 = bi[i];
    cr[i] = real_part(a0, b0, c0, d0);
    ci[i] = imaginary_part(a0, b0, c0, d0);
  }
  const int t = vectors * 4 + self;
  if (t < n) {
    c_re[t] = a_re[t] * b_re[t] - a_im[t] * b_im[t];
    c_im[t] = a_re[t] * b_im[t] + a_im[t] * b_re[t];
  }
}

extern "C" void launch(const float* a_re, const float* a_im, const float* b_re, const float* b_im, float* c_re, float* c_im, int n,
                       cudaStream_t stream) {
  int blocks = (n + 1023) / 1024;
  if (blocks > 132 * 16) blocks = 132 * 16;
  multiply<<<blocks, 256, 0, stream>>>(a_re, a_im, b_re, b_im, c_re, c_im, n);
}
