// task: silu
// bug: the number of float4 is rounded up, so the last one reaches past the end
// kind: out_of_bounds
// status: fault
__device__ float silu(float v) { return v / (1.0f + expf(-v)); }

__global__ void silu_kernel(const float* __restrict__ x, float* __restrict__ y, int n) {
  const int i = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
  if (i < n) {
    const float4 v = *reinterpret_cast<const float4*>(x + i);                                        // BUG
    *reinterpret_cast<float4*>(y + i) = make_float4(silu(v.x), silu(v.y), silu(v.z), silu(v.w));  // BUG
  }
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  const int quads = (n + 3) / 4;
  silu_kernel<<<(quads + 127) / 128, 128, 0, stream>>>(x, y, n);
}
