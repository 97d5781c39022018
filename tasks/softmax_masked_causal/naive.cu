// One thread computes one row of one score matrix.
__global__ void causal_softmax(const float* scores, float* y, int batch, int seq) {
  int query = blockIdx.x * blockDim.x + threadIdx.x;
  int b = blockIdx.y;
  if (query >= seq || b >= batch) return;
  const float* in = scores + (b * seq + query) * seq;
  float* out = y + (b * seq + query) * seq;
  float top = in[0];
  for (int key = 1; key <= query; ++key) top = fmaxf(top, in[key]);
  float sum = 0.0f;
  for (int key = 0; key <= query; ++key) sum += expf(in[key] - top);
  for (int key = 0; key < seq; ++key) {
    out[key] = key <= query ? expf(in[key] - top) / sum : 0.0f;
  }
}

extern "C" void launch(const float* scores, float* y, int batch, int seq, cudaStream_t stream) {
  constexpr int threads = 64;
  const dim3 grid(static_cast<unsigned>((seq + threads - 1) / threads), static_cast<unsigned>(batch));
  causal_softmax<<<grid, threads, 0, stream>>>(scores, y, batch, seq);
}
