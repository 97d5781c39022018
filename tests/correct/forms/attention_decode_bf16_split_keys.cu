// task: attention_decode_bf16
// honest: keys in pieces of 192 on at most 1056 blocks, each piece with its own online softmax, a second kernel weighs the pieces.
#include <cuda_bf16.h>

constexpr int piece = 192, warps = 4, most = 128;

__global__ void __launch_bounds__(warps * 32) attend_piece(const __nv_bfloat16* __restrict__ q, const __nv_bfloat16* __restrict__ k,
                                                           const __nv_bfloat16* __restrict__ v, float* __restrict__ parts,
                                                           float2* __restrict__ states, int heads, int dim, int length, int pieces) {
  __shared__ float sums[warps][most];
  __shared__ float2 state[warps];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const float scale = rsqrtf((float)dim);
  for (int w = blockIdx.x; w < heads * pieces; w += gridDim.x) {
    const int head = w / pieces, begin = w % pieces * piece, end = min(length, begin + piece);
    float query[most / 32], sum[most / 32] = {}, top = -INFINITY, total = 0.0f;
#pragma unroll
    for (int i = 0; i < most / 32; ++i) {
      const int d = lane + 32 * i;
      query[i] = d < dim ? __bfloat162float(q[(size_t)head * dim + d]) * scale : 0.0f;
    }
    for (int key = begin + warp; key < end; key += warps) {
      const size_t at = ((size_t)head * length + key) * dim;
      float dot = 0.0f;
#pragma unroll
      for (int i = 0; i < most / 32; ++i) {
        const int d = lane + 32 * i;
        if (d < dim) dot = fmaf(query[i], __bfloat162float(k[at + d]), dot);
      }
#pragma unroll
      for (int step = 16; step > 0; step /= 2) dot += __shfl_xor_sync(0xffffffffu, dot, step);
      const float new_top = fmaxf(top, dot), shrink = expf(top - new_top), p = expf(dot - new_top);
      total = total * shrink + p;
      top = new_top;
#pragma unroll
      for (int i = 0; i < most / 32; ++i) {
        const int d = lane + 32 * i;
        if (d < dim) sum[i] = fmaf(p, __bfloat162float(v[at + d]), sum[i] * shrink);
      }
    }
#pragma unroll
    for (int i = 0; i < most / 32; ++i) sums[warp][lane + 32 * i] = sum[i];
    if (lane == 0) state[warp] = make_float2(top, total);
    __syncthreads();
    float best = state[0].x;
#pragma unroll
    for (int i = 1; i < warps; ++i) best = fmaxf(best, state[i].x);
    float all = 0.0f, value = 0.0f;
#pragma unroll
    for (int i = 0; i < warps; ++i) {
      const float share = expf(state[i].x - best);
      all += state[i].y * share;
      value += sums[i][threadIdx.x] * share;
    }
    if (threadIdx.x < dim) parts[(size_t)w * dim + threadIdx.x] = value;
    if (threadIdx.x == 0) states[w] = make_float2(best, all);
    __syncthreads();
  }
}

__global__ void __launch_bounds__(most) weigh(const float* __restrict__ parts, const float2* __restrict__ states,
                                              __nv_bfloat16* __restrict__ y, int dim, int pieces) {
  const int head = blockIdx.x, d = threadIdx.x;
  float best = -INFINITY;
  for (int p = 0; p < pieces; ++p) best = fmaxf(best, states[head * pieces + p].x);
  float all = 0.0f, value = 0.0f;
  for (int p = 0; p < pieces; ++p) {
    const float2 s = states[head * pieces + p];
    const float share = expf(s.x - best);
    all += s.y * share;
    if (d < dim) value += parts[((size_t)head * pieces + p) * dim + d] * share;
  }
  if (d < dim) y[(size_t)head * dim + d] = __float2bfloat16(value / all);
}

// The task's heads have at most 128 values.
extern "C" void launch(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v, __nv_bfloat16* y, int batch, int heads,
                       int dim, int length, cudaStream_t stream) {
  const int pieces = (length + piece - 1) / piece, work = batch * heads * pieces;
  float* parts;
  float2* states;
  cudaMallocAsync(&parts, (size_t)work * dim * sizeof(float), stream);
  cudaMallocAsync(&states, (size_t)work * sizeof(float2), stream);
  attend_piece<<<work < 1056 ? work : 1056, warps * 32, 0, stream>>>(q, k, v, parts, states, batch * heads, dim, length, pieces);
  weigh<<<batch * heads, most, 0, stream>>>(parts, states, y, dim, pieces);
  cudaFreeAsync(states, stream);
  cudaFreeAsync(parts, stream);
}
