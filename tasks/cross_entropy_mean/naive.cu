// Pass 1: one thread computes the loss of one row.
__global__ void row_loss(const float* logits, const int* target, float* losses, int rows, int classes) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  int base = row * classes;
  float top = logits[base];
  for (int c = 1; c < classes; ++c) top = fmaxf(top, logits[base + c]);
  float sum = 0.0f;
  for (int c = 0; c < classes; ++c) sum += expf(logits[base + c] - top);
  losses[row] = logf(sum) + top - logits[base + target[row]];
}

// Pass 2: a single thread averages the row losses.
__global__ void mean_of(const float* losses, float* loss, int rows) {
  if (blockIdx.x != 0 || threadIdx.x != 0) return;
  float sum = 0.0f;
  for (int row = 0; row < rows; ++row) sum += losses[row];
  loss[0] = sum / rows;
}

extern "C" void launch(const float* logits, const int* target, float* loss, int rows, int classes,
                       cudaStream_t stream) {
  float* losses = nullptr;
  cudaMallocAsync(&losses, sizeof(float) * rows, stream);
  row_loss<<<(rows + 31) / 32, 32, 0, stream>>>(logits, target, losses, rows, classes);
  mean_of<<<1, 1, 0, stream>>>(losses, loss, rows);
  cudaFreeAsync(losses, stream);
}
