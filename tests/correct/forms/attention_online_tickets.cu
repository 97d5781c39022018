// task: attention
// honest: online softmax over 24 keys at a time for 32 queries, four threads a query; persistent blocks draw query tiles by ticket.
constexpr int queries = 32, keys = 24, most = 128, threads = 128;

__global__ void __launch_bounds__(threads) attend(const float* __restrict__ q, const float* __restrict__ k, const float* __restrict__ v,
                                                  float* __restrict__ y, int heads, int seq, int dim, unsigned* ticket) {
  __shared__ float q_tile[queries][most + 1];
  __shared__ float k_tile[keys][most + 1];
  __shared__ float v_tile[keys][most];
  __shared__ float weight[queries][keys + 1];
  __shared__ unsigned drawn;
  const unsigned pieces = (seq + queries - 1) / queries, work = heads * pieces;
  const int row = threadIdx.x / 4, part = threadIdx.x % 4;
  const float scale = 1.0f / sqrtf((float)dim);
  unsigned w = blockIdx.x;
  while (w < work) {
    const int query0 = w % pieces * queries;
    const size_t base = (size_t)(w / pieces) * seq * dim;
    for (int i = threadIdx.x; i < queries * dim; i += threads) {
      const int r = i / dim, d = i % dim;
      q_tile[r][d] = query0 + r < seq ? q[base + (size_t)(query0 + r) * dim + d] * scale : 0.0f;
    }
    float sum[most / 4];
#pragma unroll
    for (int i = 0; i < most / 4; ++i) sum[i] = 0.0f;
    float top = -INFINITY, total = 0.0f;
    for (int key0 = 0; key0 < seq; key0 += keys) {
      const int count = min(keys, seq - key0);
      for (int i = threadIdx.x; i < count * dim; i += threads) {
        k_tile[i / dim][i % dim] = k[base + (size_t)key0 * dim + i];
        v_tile[i / dim][i % dim] = v[base + (size_t)key0 * dim + i];
      }
      __syncthreads();
      float score[keys / 4], best = -INFINITY;
#pragma unroll
      for (int j = 0; j < keys / 4; ++j) {
        const int key = part + 4 * j;
        score[j] = -INFINITY;
        if (key < count) {
          float dot = 0.0f;
          for (int d = 0; d < dim; ++d) dot = fmaf(q_tile[row][d], k_tile[key][d], dot);
          score[j] = dot;
        }
        best = fmaxf(best, score[j]);
      }
      best = fmaxf(best, __shfl_xor_sync(0xffffffffu, best, 1));
      best = fmaxf(best, __shfl_xor_sync(0xffffffffu, best, 2));
      const float new_top = fmaxf(top, best), shrink = expf(top - new_top);
      float added = 0.0f;
#pragma unroll
      for (int j = 0; j < keys / 4; ++j) {
        const float p = expf(score[j] - new_top);
        weight[row][part + 4 * j] = p;
        added += p;
      }
      added += __shfl_xor_sync(0xffffffffu, added, 1);
      added += __shfl_xor_sync(0xffffffffu, added, 2);
      total = total * shrink + added;
      top = new_top;
      __syncwarp();
#pragma unroll
      for (int i = 0; i < most / 4; ++i) {
        const int d = part + 4 * i;
        if (d < dim) {
          float s = sum[i] * shrink;
          for (int key = 0; key < count; ++key) s = fmaf(weight[row][key], v_tile[key][d], s);
          sum[i] = s;
        }
      }
      __syncthreads();
    }
    if (query0 + row < seq) {
#pragma unroll
      for (int i = 0; i < most / 4; ++i) {
        if (part + 4 * i < dim) y[base + (size_t)(query0 + row) * dim + part + 4 * i] = sum[i] / total;
      }
    }
    if (threadIdx.x == 0) drawn = gridDim.x + atomicAdd(ticket, 1u);
    __syncthreads();
    w = drawn;
    __syncthreads();
  }
}

// The task's heads have at most 128 values.
extern "C" void launch(const float* q, const float* k, const float* v, float* y, int batch, int heads, int seq, int dim,
                       cudaStream_t stream) {
  const int work = batch * heads * ((seq + queries - 1) / queries);
  unsigned* ticket;
  cudaMallocAsync(&ticket, sizeof(unsigned), stream);
  cudaMemsetAsync(ticket, 0, sizeof(unsigned), stream);
  attend<<<work < 264 ? work : 264, threads, 0, stream>>>(q, k, v, y, batch * heads, seq, dim, ticket);
  cudaFreeAsync(ticket, stream);
}
