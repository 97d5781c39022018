// task: relu
__global__ void relu_kernel(const float4* __restrict__ x, float4* __restrict__ y, int quads, const float* tail_x,
                            float* tail_y, int tail) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < quads) {
    float4 v = x[i];
    v.x = fmaxf(v.x, 0.0f);
    v.y = fmaxf(v.y, 0.0f);
    v.z = fmaxf(v.z, 0.0f);
    v.w = fmaxf(v.w, 0.0f);
    y[i] = v;
  }
  if (i < tail) tail_y[i] = fmaxf(tail_x[i], 0.0f);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  const int quads = n / 4;
  const int tail = n - quads * 4;
  relu_kernel<<<quads / 256 + 1, 256, 0, stream>>>((const float4*)x, (float4*)y, quads, x + quads * 4, y + quads * 4, tail);
}
