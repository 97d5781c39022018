// task: layer_norm
template <unsigned int blockSize>
__global__ void ln(const float* __restrict__ x, const float* __restrict__ w, const float* __restrict__ b,
                   float* __restrict__ y, int cols, float eps) {
  __shared__ float s[blockSize];
  const float* p = x + (size_t)blockIdx.x * cols;
  float v = 0;
  for (int i = threadIdx.x; i < cols; i += blockSize) v += p[i];
  s[threadIdx.x] = v;
  __syncthreads();
#pragma unroll
  for (unsigned o = blockSize / 2; o > 0; o >>= 1) {
    if (threadIdx.x < o) s[threadIdx.x] += s[threadIdx.x + o];
    __syncthreads();
  }
  float mean = s[0] / cols;
  __syncthreads();
  v = 0;
  for (int i = threadIdx.x; i < cols; i += blockSize) {
    float d = p[i] - mean;
    v += d * d;
  }
  s[threadIdx.x] = v;
  __syncthreads();
  for (unsigned o = blockSize / 2; o > 0; o >>= 1) {
    if (threadIdx.x < o) s[threadIdx.x] += s[threadIdx.x + o];
    __syncthreads();
  }
  float rstd = rsqrtf(s[0] / cols + eps);
  for (int i = threadIdx.x; i < cols; i += blockSize)
    y[(size_t)blockIdx.x * cols + i] = (p[i] - mean) * rstd * w[i] + b[i];
}
extern "C" void launch(const float* x, const float* weight, const float* bias, float* y, int rows, int cols,
                       cudaStream_t stream) {
  int threads = 1;
  while (threads < cols && threads < 512) threads <<= 1;
  const float eps = 1e-5f;
  switch (threads) {
    case 512:
      ln<512><<<rows, 512, 0, stream>>>(x, weight, bias, y, cols, eps);
      break;
    case 256:
      ln<256><<<rows, 256, 0, stream>>>(x, weight, bias, y, cols, eps);
      break;
    default:
      ln<128><<<rows, 128, 0, stream>>>(x, weight, bias, y, cols, eps);
  }
}
