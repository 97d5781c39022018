// Pass 1: one thread sums every stride-th squared difference.
__global__ void partial_squares(const float* x, const float* target, float* partial, int count, int stride) {
  int start = blockIdx.x * blockDim.x + threadIdx.x;
  if (start >= stride) return;
  float sum = 0.0f;
  for (int i = start; i < count; i += stride) {
    float difference = x[i] - target[i];
    sum += difference * difference;
  }
  partial[start] = sum;
}

// Later passes: one thread sums every stride-th partial sum.
__global__ void sum_partial(const float* partial, float* out, int count, int stride) {
  int start = blockIdx.x * blockDim.x + threadIdx.x;
  if (start >= stride) return;
  float sum = 0.0f;
  for (int i = start; i < count; i += stride) sum += partial[i];
  out[start] = sum;
}

extern "C" void launch(const float* x, const float* target, float* loss, int count, cudaStream_t stream) {
  constexpr int kFirst = 16384;
  constexpr int kSecond = 128;
  float* first = nullptr;
  float* second = nullptr;
  cudaMallocAsync(&first, kFirst * sizeof(float), stream);
  cudaMallocAsync(&second, kSecond * sizeof(float), stream);
  partial_squares<<<kFirst / 128, 128, 0, stream>>>(x, target, first, count, kFirst);
  sum_partial<<<1, kSecond, 0, stream>>>(first, second, kFirst, kSecond);
  sum_partial<<<1, 1, 0, stream>>>(second, loss, kSecond, 1);
  cudaFreeAsync(second, stream);
  cudaFreeAsync(first, stream);
}
