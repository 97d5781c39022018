// task: avg_pool2d
// bug: the input's rows are taken to be twice the output's width, which fails for odd widths
// kind: wrong_result
// status: wrong
__global__ void pool_kernel(const float* __restrict__ x, float* __restrict__ y, int planes, int height, int width) {
  const int out_height = height / 2, out_width = width / 2;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= planes * out_height * out_width) return;
  const int column = i % out_width, row = i / out_width % out_height, plane = i / (out_width * out_height);
  const int stride = out_width * 2;  // BUG
  const float* in = x + (size_t)plane * height * width + (size_t)row * 2 * stride + column * 2;
  y[i] = 0.25f * (in[0] + in[1] + in[stride] + in[stride + 1]);  // BUG
}

extern "C" void launch(const float* x, float* y, int batch, int channels, int height, int width, cudaStream_t stream) {
  const int count = batch * channels * (height / 2) * (width / 2);
  pool_kernel<<<(count + 127) / 128, 128, 0, stream>>>(x, y, batch * channels, height, width);
}
