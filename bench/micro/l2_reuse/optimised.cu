// Four elements a thread and access where rows of four fit; otherwise one by one.
constexpr int copies = 64;
constexpr int shift = 99968;

__global__ void total_packs(const float4* __restrict__ x, float4* __restrict__ y, int packs) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= packs) return;
  const int step = shift / 4 % packs;
  float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  int from = i;
#pragma unroll 8
  for (int k = 0; k < copies; ++k) {
    const float4 v = x[from];
    sum.x += v.x;
    sum.y += v.y;
    sum.z += v.z;
    sum.w += v.w;
    from += step;
    if (from >= packs) from -= packs;
  }
  y[i] = sum;
}

__global__ void total(const float* __restrict__ x, float* __restrict__ y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int step = shift % n;
  float sum = 0.0f;
  int from = i;
  for (int k = 0; k < copies; ++k) {
    sum += x[from];
    from += step;
    if (from >= n) from -= n;
  }
  y[i] = sum;
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  const int threads = 256;
  if (n % 4 == 0) {
    const int packs = n / 4;
    total_packs<<<(packs + threads - 1) / threads, threads, 0, stream>>>(reinterpret_cast<const float4*>(x),
                                                                         reinterpret_cast<float4*>(y), packs);
  } else {
    total<<<(n + threads - 1) / threads, threads, 0, stream>>>(x, y, n);
  }
}
