#include <cfloat>

// One block takes 64 queries and streams the keys past in tiles of 64: scores and weights never leave the chip, since
// maximum, sum and output are rescaled as the tiles come (online softmax). Both products are register-blocked.
constexpr int tile = 64;   // queries of a block, keys of a step
constexpr int depth = 16;  // of the slices staged in shared memory
constexpr int side = 16;   // threads are side x side; a row of them shares its queries
constexpr int threads = side * side;
constexpr int own = tile / side;  // queries, and keys, of a thread

// Reductions over the 16 lanes that share their queries.
__device__ float row_max(float value) {
  for (int offset = side / 2; offset > 0; offset /= 2) {
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
  }
  return value;
}

__device__ float row_sum(float value) {
  for (int offset = side / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
  return value;
}

// Stages rows first .. first + tile, columns start .. start + depth, transposed; zeros beyond the edges.
__device__ void stage(float (*shared)[tile + 4], const float* matrix, int seq, int dim, int first, int start) {
  for (int i = threadIdx.x; i < tile * depth; i += threads) {
    const int row = first + i / depth, col = start + i % depth;
    shared[i % depth][i / depth] = row < seq && col < dim ? matrix[static_cast<size_t>(row) * dim + col] : 0.0f;
  }
}

// Block (x, y, z): queries of tile x, output columns of group y, head z.
template <int columns>
__global__ void __launch_bounds__(threads)
    attend(const float* __restrict__ q, const float* __restrict__ k, const float* __restrict__ v, float* __restrict__ y,
           int seq, int dim) {
  __shared__ alignas(16) float queries[depth][tile + 4];
  __shared__ alignas(16) float keys[depth][tile + 4];
  __shared__ alignas(16) float weights[tile][tile + 4];  // key by query
  __shared__ alignas(16) float values[depth][columns];
  const size_t head = static_cast<size_t>(blockIdx.z) * seq * dim;
  const int first_query = blockIdx.x * tile;
  const int first_column = blockIdx.y * columns;
  const int row = threadIdx.x / side, lane = threadIdx.x % side;
  const float scale = rsqrtf(static_cast<float>(dim));
  constexpr int own_columns = columns / side;
  const auto own_column = [&](int c) { return (c / 4 * side + lane) * 4 + c % 4; };  // in runs of four: vector loads

  float top[own], total[own] = {}, out[own][own_columns] = {};
  for (int i = 0; i < own; ++i) top[i] = -FLT_MAX;

  for (int first_key = 0; first_key < seq; first_key += tile) {
    float score[own][own] = {};
    for (int start = 0; start < dim; start += depth) {
      stage(queries, q + head, seq, dim, first_query, start);
      stage(keys, k + head, seq, dim, first_key, start);
      __syncthreads();
#pragma unroll
      for (int d = 0; d < depth; ++d) {
#pragma unroll
        for (int i = 0; i < own; ++i) {
#pragma unroll
          for (int j = 0; j < own; ++j) score[i][j] += queries[d][row * own + i] * keys[d][lane * own + j];
        }
      }
      __syncthreads();
    }

#pragma unroll
    for (int i = 0; i < own; ++i) {
      float highest = top[i];
#pragma unroll
      for (int j = 0; j < own; ++j) {
        const bool exists = first_key + lane * own + j < seq;
        score[i][j] = exists ? score[i][j] * scale : -FLT_MAX;
        highest = fmaxf(highest, score[i][j]);
      }
      highest = row_max(highest);
      const float shrink = __expf(top[i] - highest);
      float sum = 0.0f;
#pragma unroll
      for (int j = 0; j < own; ++j) {
        score[i][j] = __expf(score[i][j] - highest);
        sum += score[i][j];
      }
      top[i] = highest;
      total[i] = total[i] * shrink + row_sum(sum);
#pragma unroll
      for (int c = 0; c < own_columns; ++c) out[i][c] *= shrink;
    }
    // Place p holds key p % side * own + p / side: in this order the lanes' stores fall into different banks.
#pragma unroll
    for (int j = 0; j < own; ++j) {
#pragma unroll
      for (int i = 0; i < own; ++i) weights[j * side + lane][row * own + i] = score[i][j];
    }

    for (int start = 0; start < tile; start += depth) {
      for (int i = threadIdx.x; i < depth * columns; i += threads) {
        const int place = start + i / columns, col = first_column + i % columns;
        const int key = first_key + place % side * own + place / side;
        values[i / columns][i % columns] =
            key < seq && col < dim ? v[head + static_cast<size_t>(key) * dim + col] : 0.0f;
      }
      __syncthreads();
#pragma unroll
      for (int d = 0; d < depth; ++d) {
#pragma unroll
        for (int i = 0; i < own; ++i) {
#pragma unroll
          for (int c = 0; c < own_columns; ++c) {
            out[i][c] += weights[start + d][row * own + i] * values[d][own_column(c)];
          }
        }
      }
      __syncthreads();
    }
  }

#pragma unroll
  for (int i = 0; i < own; ++i) {
    const int query = first_query + row * own + i;
    const float inverse = 1.0f / total[i];
#pragma unroll
    for (int c = 0; c < own_columns; ++c) {
      const int col = first_column + own_column(c);
      if (query < seq && col < dim) y[head + static_cast<size_t>(query) * dim + col] = out[i][c] * inverse;
    }
  }
}

template <int columns>
void launch_tiles(const float* q, const float* k, const float* v, float* y, int heads, int seq, int dim,
                  cudaStream_t stream) {
  const dim3 grid((seq + tile - 1) / tile, (dim + columns - 1) / columns, heads);
  attend<columns><<<grid, threads, 0, stream>>>(q, k, v, y, seq, dim);
}

extern "C" void launch(const float* q, const float* k, const float* v, float* y, int batch, int heads, int seq, int dim,
                       cudaStream_t stream) {
  if (dim <= 64) {
    launch_tiles<64>(q, k, v, y, batch * heads, seq, dim, stream);
  } else {
    launch_tiles<128>(q, k, v, y, batch * heads, seq, dim, stream);
  }
}
