// One thread computes the loss of one row.
__global__ void cross_entropy(const float* logits, const int* target, float* loss, int rows, int classes) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  const float* scores = logits + row * classes;
  float top = scores[0];
  for (int c = 1; c < classes; ++c) top = fmaxf(top, scores[c]);
  float sum = 0.0f;
  for (int c = 0; c < classes; ++c) sum += expf(scores[c] - top);
  loss[row] = logf(sum) + top - scores[target[row]];
}

extern "C" void launch(const float* logits, const int* target, float* loss, int rows, int classes,
                       cudaStream_t stream) {
  const int threads = 32;
  cross_entropy<<<(rows + threads - 1) / threads, threads, 0, stream>>>(logits, target, loss, rows, classes);
}
