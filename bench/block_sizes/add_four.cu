// task: add
// Four neighbours a thread, one load for each array.
constexpr int threads = 32;  // of a block; the variants have more

__global__ void add_kernel(const float4* __restrict__ a, const float4* __restrict__ b, float4* __restrict__ c, int n) {
  const int i = blockIdx.x * threads + threadIdx.x;
  if (i * 4 + 3 < n) {
    const float4 p = a[i], q = b[i];
    c[i] = make_float4(p.x + q.x, p.y + q.y, p.z + q.z, p.w + q.w);
  } else {
    for (int k = i * 4; k < n; ++k) ((float*)c)[k] = ((const float*)a)[k] + ((const float*)b)[k];
  }
}

extern "C" void launch(const float* a, const float* b, float* c, int n, cudaStream_t stream) {
  const int fours = (n + 3) / 4;
  add_kernel<<<(fours + threads - 1) / threads, threads, 0, stream>>>((const float4*)a, (const float4*)b, (float4*)c, n);
}
