// task: bias_add
__global__ void bias_add_kernel(const float* __restrict__ x, const float* __restrict__ bias, float* __restrict__ y, int cols) {
  const float* in = x + (size_t)blockIdx.x * cols;
  float* out = y + (size_t)blockIdx.x * cols;
  const int head = min((int)((16 - (reinterpret_cast<size_t>(in) & 15)) / 4 % 4), cols);
  const int quads = (cols - head) / 4;
  for (int c = threadIdx.x; c < head; c += blockDim.x) out[c] = in[c] + bias[c];
  for (int q = threadIdx.x; q < quads; q += blockDim.x) {
    const float4 v = reinterpret_cast<const float4*>(in + head)[q];
    const int c = head + q * 4;
    reinterpret_cast<float4*>(out + head)[q] = make_float4(v.x + bias[c], v.y + bias[c + 1], v.z + bias[c + 2], v.w + bias[c + 3]);
  }
  for (int c = head + quads * 4 + threadIdx.x; c < cols; c += blockDim.x) out[c] = in[c] + bias[c];
}

extern "C" void launch(const float* x, const float* bias, float* y, int rows, int cols, cudaStream_t stream) {
  bias_add_kernel<<<rows, 64, 0, stream>>>(x, bias, y, cols);
}
