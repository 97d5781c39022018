// task: add
#define FLOAT4(value) (reinterpret_cast<float4*>(&(value))[0])
#define CFLOAT4(value) (reinterpret_cast<const float4*>(&(value))[0])
__global__ void elementwise_add_f32x4(const float* a, const float* b, float* c, int N) {
  int idx = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
  if (idx + 3 < N) {
    float4 ra = CFLOAT4(a[idx]);
    float4 rb = CFLOAT4(b[idx]);
    float4 rc;
    rc.x = ra.x + rb.x;
    rc.y = ra.y + rb.y;
    rc.z = ra.z + rb.z;
    rc.w = ra.w + rb.w;
    FLOAT4(c[idx]) = rc;
  } else if (idx < N) {
    for (int i = idx; i < N; ++i) c[i] = a[i] + b[i];
  }
}
extern "C" void launch(const float* a, const float* b, float* c, int n, cudaStream_t stream) {
  dim3 block(256 / 4);
  dim3 grid((n + 256 - 1) / 256);
  elementwise_add_f32x4<<<grid, block, 0, stream>>>(a, b, c, n);
}
