__device__ float log_sum_exp(const float* values, int cols) {
  float top = values[0];
  for (int c = 1; c < cols; ++c) top = fmaxf(top, values[c]);
  float sum = 0.0f;
  for (int c = 0; c < cols; ++c) sum += expf(values[c] - top);
  return top + logf(sum);
}

// One thread computes the divergence of one row.
__global__ void kl_row(const float* logits, const float* target_logits, float* divergence, int rows, int cols) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  const float* predicted = logits + row * cols;
  const float* wanted = target_logits + row * cols;
  float predicted_norm = log_sum_exp(predicted, cols);
  float wanted_norm = log_sum_exp(wanted, cols);
  float sum = 0.0f;
  for (int c = 0; c < cols; ++c) {
    float log_q = wanted[c] - wanted_norm;
    float log_p = predicted[c] - predicted_norm;
    sum += expf(log_q) * (log_q - log_p);
  }
  divergence[row] = sum;
}

extern "C" void launch(const float* logits, const float* target_logits, float* divergence, int rows, int cols,
                       cudaStream_t stream) {
  constexpr unsigned threads = 32;
  const unsigned blocks = (static_cast<unsigned>(rows) + threads - 1) / threads;
  kl_row<<<blocks, threads, 0, stream>>>(logits, target_logits, divergence, rows, cols);
}
