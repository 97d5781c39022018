// task: bias_add
// bug: rows start at any multiple of 4 bytes, but are read as float4
// kind: misaligned
// status: fault
__global__ void bias_add_kernel(const float* __restrict__ x, const float* __restrict__ bias, float* __restrict__ y,
                                int cols) {
  const float* in = x + (size_t)blockIdx.x * cols;
  float* out = y + (size_t)blockIdx.x * cols;
  const int quads = cols / 4;
  for (int q = threadIdx.x; q < quads; q += blockDim.x) {
    const float4 v = reinterpret_cast<const float4*>(in)[q];  // BUG
    const float4 b = reinterpret_cast<const float4*>(bias)[q];
    reinterpret_cast<float4*>(out)[q] = make_float4(v.x + b.x, v.y + b.y, v.z + b.z, v.w + b.w);  // BUG
  }
  for (int c = quads * 4 + threadIdx.x; c < cols; c += blockDim.x) out[c] = in[c] + bias[c];
}

extern "C" void launch(const float* x, const float* bias, float* y, int rows, int cols, cudaStream_t stream) {
  bias_add_kernel<<<rows, 128, 0, stream>>>(x, bias, y, cols);
}
