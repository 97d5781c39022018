// One thread writes one output element.
__global__ void rotate_halves(const float* x, const float* cosine, const float* sine, float* y, int total, int seq,
                              int pairs) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= total) return;
  int dim = 2 * pairs;
  int d = i % dim;
  int position = i / dim % seq;
  float turned = d < pairs ? -x[i + pairs] : x[i - pairs];
  y[i] = x[i] * cosine[position * dim + d] + turned * sine[position * dim + d];
}

extern "C" void launch(const float* x, const float* cosine, const float* sine, float* y, int batch, int heads, int seq,
                       int pairs, cudaStream_t stream) {
  const int total = batch * heads * seq * 2 * pairs;
  const int threads = 256;
  rotate_halves<<<(total + threads - 1) / threads, threads, 0, stream>>>(x, cosine, sine, y, total, seq, pairs);
}
