// task: attention_causal_f16
// honest: four queries a warp, online softmax over tiles of 32 keys, 264 blocks in turn over the query tiles with the longest ones first.
#include <cuda_fp16.h>

constexpr int queries = 16, keys = 32, most = 128, threads = 128, rows = 4;

__global__ void __launch_bounds__(threads) attend(const __half* __restrict__ q, const __half* __restrict__ k, const __half* __restrict__ v,
                                                  __half* __restrict__ y, int heads, int seq, int dim) {
  __shared__ float2 q_tile[queries][most / 2];
  __shared__ __half2 k_tile[keys][most / 2 + 1];
  __shared__ __align__(4) __half v_tile[keys][most];
  const int pieces = (seq + queries - 1) / queries, lane = threadIdx.x % 32, first = threadIdx.x / 32 * rows, pairs = dim / 2;
  const float scale = rsqrtf((float)dim);
  for (int w = blockIdx.x; w < heads * pieces; w += gridDim.x) {
    const int query0 = (pieces - 1 - w / heads) * queries;
    const size_t base = (size_t)(w % heads) * seq * dim;
    for (int i = threadIdx.x; i < queries * pairs; i += threads) {
      const int query = query0 + i / pairs;
      float2 pair = make_float2(0.0f, 0.0f);
      if (query < seq) pair = __half22float2(reinterpret_cast<const __half2*>(q + base + (size_t)query * dim)[i % pairs]);
      q_tile[i / pairs][i % pairs] = make_float2(pair.x * scale, pair.y * scale);
    }
    float sum[rows][most / 32] = {}, top[rows], total[rows];
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      top[r] = -INFINITY;
      total[r] = 0.0f;
    }
    for (int key0 = 0; key0 <= query0; key0 += keys) {
      for (int i = threadIdx.x; i < keys * pairs; i += threads) {
        const int key = key0 + i / pairs;
        __half2 a = __float2half2_rn(0.0f), b = a;
        if (key < seq) {
          a = reinterpret_cast<const __half2*>(k + base + (size_t)key * dim)[i % pairs];
          b = reinterpret_cast<const __half2*>(v + base + (size_t)key * dim)[i % pairs];
        }
        k_tile[i / pairs][i % pairs] = a;
        *reinterpret_cast<__half2*>(&v_tile[i / pairs][i % pairs * 2]) = b;
      }
      __syncthreads();
      float score[rows] = {};
      for (int d = 0; d < pairs; ++d) {
        const float2 a = __half22float2(k_tile[lane][d]);
#pragma unroll
        for (int r = 0; r < rows; ++r) {
          const float2 b = q_tile[first + r][d];
          score[r] = fmaf(a.x, b.x, fmaf(a.y, b.y, score[r]));
        }
      }
#pragma unroll
      for (int r = 0; r < rows; ++r) {
        const bool seen = key0 + lane <= query0 + first + r && key0 + lane < seq;
        float best = seen ? score[r] : -INFINITY;
#pragma unroll
        for (int step = 16; step > 0; step /= 2) best = fmaxf(best, __shfl_xor_sync(0xffffffffu, best, step));
        const float new_top = fmaxf(top[r], best), shrink = expf(top[r] - new_top);
        score[r] = seen ? expf(score[r] - new_top) : 0.0f;
        float added = score[r];
#pragma unroll
        for (int step = 16; step > 0; step /= 2) added += __shfl_xor_sync(0xffffffffu, added, step);
        total[r] = total[r] * shrink + added;
        top[r] = new_top;
#pragma unroll
        for (int i = 0; i < most / 32; ++i) sum[r][i] *= shrink;
      }
      for (int key = 0; key < keys; ++key) {
        float p[rows];
#pragma unroll
        for (int r = 0; r < rows; ++r) p[r] = __shfl_sync(0xffffffffu, score[r], key);
#pragma unroll
        for (int i = 0; i < most / 32; ++i) {
          if (lane + 32 * i < dim) {
            const float value = __half2float(v_tile[key][lane + 32 * i]);
#pragma unroll
            for (int r = 0; r < rows; ++r) sum[r][i] = fmaf(p[r], value, sum[r][i]);
          }
        }
      }
      __syncthreads();
    }
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      const int query = query0 + first + r;
#pragma unroll
      for (int i = 0; i < most / 32; ++i) {
        const int d = lane + 32 * i;
        if (query < seq && d < dim) y[base + (size_t)query * dim + d] = __float2half(sum[r][i] / total[r]);
      }
    }
  }
}

// The task's heads have at most 128 values, a multiple of eight.
extern "C" void launch(const __half* q, const __half* k, const __half* v, __half* y, int batch, int heads, int seq, int dim,
                       cudaStream_t stream) {
  const int work = batch * heads * ((seq + queries - 1) / queries);
  attend<<<work < 264 ? work : 264, threads, 0, stream>>>(q, k, v, y, batch * heads, seq, dim);
}
