// task: attention
// bug: the online softmax does not rescale the accumulator when the maximum grows
// kind: wrong_result
// status: wrong
__global__ void attention_kernel(const float* __restrict__ q, const float* __restrict__ k, const float* __restrict__ v,
                                 float* __restrict__ y, int seq, int dim) {
  const size_t head = (size_t)blockIdx.y * seq * dim;
  const int row = blockIdx.x;
  const int lane = threadIdx.x;
  const float scale = rsqrtf((float)dim);
  float top = -1.0e30f, sum = 0.0f;
  float out[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  for (int j = 0; j < seq; ++j) {
    float score = 0.0f;
    for (int d = lane; d < dim; d += 32) score += q[head + (size_t)row * dim + d] * k[head + (size_t)j * dim + d];
    for (int step = 16; step > 0; step /= 2) score += __shfl_xor_sync(0xffffffffu, score, step);
    score *= scale;
    const float next = fmaxf(top, score);
    const float old = expf(top - next), own = expf(score - next);
    sum = sum * old + own;
    for (int p = 0; p < 4; ++p)
      if (lane + 32 * p < dim) out[p] = out[p] + own * v[head + (size_t)j * dim + lane + 32 * p];  // BUG
    top = next;
  }
  for (int p = 0; p < 4; ++p)
    if (lane + 32 * p < dim) y[head + (size_t)row * dim + lane + 32 * p] = out[p] / sum;  // BUG
}

extern "C" void launch(const float* q, const float* k, const float* v, float* y, int batch, int heads, int seq,
                       int dim, cudaStream_t stream) {
  attention_kernel<<<dim3(seq, batch * heads), 32, 0, stream>>>(q, k, v, y, seq, dim);
}
