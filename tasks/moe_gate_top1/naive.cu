// One thread gates one token; the first of equal scores wins.
__global__ void gate_token(const float* logits, float* weight, int* index, int tokens, int experts) {
  int token = blockIdx.x * blockDim.x + threadIdx.x;
  if (token >= tokens) return;
  const float* scores = logits + token * experts;
  int best = 0;
  for (int e = 1; e < experts; ++e) {
    if (scores[e] > scores[best]) best = e;
  }
  float sum = 0.0f;
  for (int e = 0; e < experts; ++e) sum += expf(scores[e] - scores[best]);
  weight[token] = 1.0f / sum;
  index[token] = best;
}

extern "C" void launch(const float* logits, float* weight, int* index, int tokens, int experts, cudaStream_t stream) {
  constexpr int kThreads = 256;
  int blocks = 1 + (tokens - 1) / kThreads;
  gate_token<<<blocks, kThreads, 0, stream>>>(logits, weight, index, tokens, experts);
}
