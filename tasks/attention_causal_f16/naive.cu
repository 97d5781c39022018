#include <cuda_fp16.h>

// One thread computes one query's whole output, with its scores kept in scratch memory.
__global__ void attend(const __half* q, const __half* k, const __half* v, float* scratch, __half* y, int rows, int seq,
                       int dim) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  int query = row % seq;
  int first = row - query;
  float* scores = scratch + row * seq;
  float scale = rsqrtf(static_cast<float>(dim));
  float top = 0.0f;
  for (int key = 0; key <= query; ++key) {
    float sum = 0.0f;
    for (int d = 0; d < dim; ++d) sum += __half2float(q[row * dim + d]) * __half2float(k[(first + key) * dim + d]);
    scores[key] = sum * scale;
    top = key == 0 ? scores[key] : fmaxf(top, scores[key]);
  }
  float total = 0.0f;
  for (int key = 0; key <= query; ++key) {
    scores[key] = expf(scores[key] - top);
    total += scores[key];
  }
  for (int d = 0; d < dim; ++d) {
    float sum = 0.0f;
    for (int key = 0; key <= query; ++key) sum += scores[key] * __half2float(v[(first + key) * dim + d]);
    y[row * dim + d] = __float2half(sum / total);
  }
}

extern "C" void launch(const __half* q, const __half* k, const __half* v, __half* y, int batch, int heads, int seq,
                       int dim, cudaStream_t stream) {
  const int rows = batch * heads * seq;
  const size_t bytes = sizeof(float) * rows * seq;
  float* scratch = nullptr;
  cudaMallocAsync(&scratch, bytes, stream);
  const int threads = 64;
  attend<<<(rows + threads - 1) / threads, threads, 0, stream>>>(q, k, v, scratch, y, rows, seq, dim);
  cudaFreeAsync(scratch, stream);
}
