#include <cuda_bf16.h>

// Pass 1: one thread computes one score.
__global__ void cache_scores(const __nv_bfloat16* q, const __nv_bfloat16* k, float* scores, int heads, int dim,
                             int length) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= heads * length) return;
  int head = i / length;
  float sum = 0.0f;
  for (int d = 0; d < dim; ++d) sum += __bfloat162float(q[head * dim + d]) * __bfloat162float(k[i * dim + d]);
  scores[i] = sum * rsqrtf(static_cast<float>(dim));
}

// Pass 2: one thread turns one head's scores into weights.
__global__ void cache_softmax(float* scores, int heads, int length) {
  int head = blockIdx.x * blockDim.x + threadIdx.x;
  if (head >= heads) return;
  float* s = scores + head * length;
  float top = s[0];
  for (int i = 1; i < length; ++i) top = fmaxf(top, s[i]);
  float sum = 0.0f;
  for (int i = 0; i < length; ++i) sum += expf(s[i] - top);
  for (int i = 0; i < length; ++i) s[i] = expf(s[i] - top) / sum;
}

// Pass 3: one thread computes one output element.
__global__ void cache_values(const float* weights, const __nv_bfloat16* v, __nv_bfloat16* y, int heads, int dim,
                             int length) {
  int d = blockIdx.x * blockDim.x + threadIdx.x;
  int head = blockIdx.y;
  if (d >= dim || head >= heads) return;
  float sum = 0.0f;
  for (int i = 0; i < length; ++i) {
    sum += weights[head * length + i] * __bfloat162float(v[(head * length + i) * dim + d]);
  }
  y[head * dim + d] = __float2bfloat16(sum);
}

extern "C" void launch(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v, __nv_bfloat16* y,
                       int batch, int heads, int dim, int length, cudaStream_t stream) {
  int all_heads = batch * heads;
  float* scores = nullptr;
  cudaMallocAsync(&scores, static_cast<size_t>(all_heads) * length * sizeof(float), stream);
  cache_scores<<<(all_heads * length + 127) / 128, 128, 0, stream>>>(q, k, scores, all_heads, dim, length);
  cache_softmax<<<(all_heads + 31) / 32, 32, 0, stream>>>(scores, all_heads, length);
  dim3 grid((dim + 31) / 32, all_heads);
  cache_values<<<grid, 32, 0, stream>>>(scores, v, y, all_heads, dim, length);
  cudaFreeAsync(scores, stream);
}
