// One thread adds up the middle axis for one pair of outer and inner index.
__global__ void sum_middle(const float* x, float* y, int outer, int mid, int inner) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int o = blockIdx.y;
  if (o >= outer || i >= inner) return;
  float sum = 0.0f;
  for (int m = 0; m < mid; ++m) sum += x[(o * mid + m) * inner + i];
  y[o * inner + i] = sum;
}

extern "C" void launch(const float* x, float* y, int outer, int mid, int inner, cudaStream_t stream) {
  const int threads = 64;
  const dim3 blocks(static_cast<unsigned>((inner + threads - 1) / threads), static_cast<unsigned>(outer));
  sum_middle<<<blocks, dim3(threads), 0, stream>>>(x, y, outer, mid, inner);
}
