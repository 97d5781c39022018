#include <cuda_fp16.h>
#include <cfloat>

// Four warps take 16 queries each and stream the keys past in tiles of 64, as far as the diagonal. Both products run on
// the tensor cores; scores stay in registers, whose layout as a result is just what the second product wants as input.
// Maximum, sum and output are rescaled as the tiles come (online softmax). The longest blocks start first.
constexpr int warp_size = 32;
constexpr int warps = 4;
constexpr int threads = warps * warp_size;
constexpr int warp_queries = 16;
constexpr int tile = warps * warp_queries;  // queries of a block, keys of a step
constexpr int depth = 64;                   // of the slices staged in shared memory
constexpr int width = 8;                    // halves in a 16-byte access
constexpr int pad = 8;

// Eight halves on the move stay words: taken apart, each load would wait for the one before.
struct alignas(16) Words {
  unsigned at[width / 2];
};

// c += a * b for a 16 x 16 and a 16 x 8 block; lane l holds rows l / 4 and l / 4 + 8, columns from 2 * (l % 4) on.
__device__ void multiply_add(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// The 16 x 8 block whose row l % 16 begins at the pointer of lane l, as the second factor of a product.
__device__ void load_transposed(unsigned (&b)[2], const __half* row) {
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(b[0]), "=r"(b[1])
               : "r"(address)
               : "memory");
}

__device__ unsigned pair_at(const __half* halves) { return *reinterpret_cast<const unsigned*>(halves); }

__device__ unsigned pair_of(float low, float high) {
  const unsigned low_bits = __half_as_ushort(__float2half(low)), high_bits = __half_as_ushort(__float2half(high));
  return high_bits << 16 | low_bits;
}

// Reductions over the four lanes that share their rows.
__device__ float row_max(float value) {
  for (int offset = 2; offset > 0; offset /= 2) value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
  return value;
}

__device__ float row_sum(float value) {
  for (int offset = 2; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
  return value;
}

// Stages a tile x cols piece of a seq x dim matrix; zeros beyond its edges. Aligned: rows are whole packs.
template <bool aligned, int cols>
__device__ void stage(__half (*shared)[cols + pad], const __half* matrix, int seq, int dim, int first_row,
                      int first_col) {
#pragma unroll
  for (int i = threadIdx.x * width; i < tile * cols; i += threads * width) {
    const int row = first_row + i / cols, col = first_col + i % cols;
    const __half* source = matrix + static_cast<size_t>(row) * dim + col;
    Words words{};
    if (aligned) {
      if (row < seq && col < dim) words = *reinterpret_cast<const Words*>(source);
    } else {
#pragma unroll
      for (int w = 0; w < width; ++w) {
        const unsigned bits = row < seq && col + w < dim ? __half_as_ushort(source[w]) : 0;
        words.at[w / 2] |= bits << w % 2 * 16;
      }
    }
    *reinterpret_cast<Words*>(&shared[i / cols][i % cols]) = words;
  }
}

// Block (x, y, z): a tile of queries, a group of output columns, a head.
template <bool aligned, int columns>
__global__ void __launch_bounds__(threads)
    attend(const __half* __restrict__ q, const __half* __restrict__ k, const __half* __restrict__ v,
           __half* __restrict__ y, int seq, int dim) {
  __shared__ alignas(16) __half queries[tile][depth + pad];
  __shared__ alignas(16) __half keys[tile][depth + pad];
  __shared__ alignas(16) __half values[tile][columns + pad];
  const size_t head = static_cast<size_t>(blockIdx.z) * seq * dim;
  const int first_query = (gridDim.x - 1 - blockIdx.x) * tile;
  const int first_column = blockIdx.y * columns;
  const int warp = threadIdx.x / warp_size, lane = threadIdx.x % warp_size;
  const int row = warp * warp_queries + lane / 4;  // and the one eight below
  const int pair = lane % 4 * 2;
  const float scale = rsqrtf(static_cast<float>(dim));

  float top[2] = {-FLT_MAX, -FLT_MAX}, total[2] = {}, out[columns / 8][4] = {};
  const int key_end = min(first_query + tile, seq);
  for (int first_key = 0; first_key < key_end; first_key += tile) {
    stage<aligned, columns>(values, v + head, seq, dim, first_key, first_column);
    float score[tile / 8][4] = {};
    for (int start = 0; start < dim; start += depth) {
      stage<aligned, depth>(queries, q + head, seq, dim, first_query, start);
      stage<aligned, depth>(keys, k + head, seq, dim, first_key, start);
      __syncthreads();
#pragma unroll
      for (int d = 0; d < depth; d += 16) {
        const unsigned a[4] = {pair_at(&queries[row][d + pair]), pair_at(&queries[row + 8][d + pair]),
                               pair_at(&queries[row][d + 8 + pair]), pair_at(&queries[row + 8][d + 8 + pair])};
#pragma unroll
        for (int n = 0; n < tile / 8; ++n) {
          const __half* key = keys[n * 8 + lane / 4];
          const unsigned b[2] = {pair_at(&key[d + pair]), pair_at(&key[d + 8 + pair])};
          multiply_add(score[n], a, b);
        }
      }
      __syncthreads();
    }

    // Entries 0 and 1 of a block belong to the upper row, 2 and 3 to the lower.
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int query = first_query + row + half * 8;
      float highest = top[half];
#pragma unroll
      for (int n = 0; n < tile / 8; ++n) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          float& entry = score[n][half * 2 + e];
          const int key = first_key + n * 8 + pair + e;
          entry = key <= query && key < seq ? entry * scale : -FLT_MAX;
          highest = fmaxf(highest, entry);
        }
      }
      highest = row_max(highest);
      float sum = 0.0f;
#pragma unroll
      for (int n = 0; n < tile / 8; ++n) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          float& entry = score[n][half * 2 + e];
          entry = __expf(entry - highest);
          sum += entry;
        }
      }
      const float shrink = __expf(top[half] - highest);
      top[half] = highest;
      total[half] = total[half] * shrink + row_sum(sum);
#pragma unroll
      for (int n = 0; n < columns / 8; ++n) {
        out[n][half * 2] *= shrink;
        out[n][half * 2 + 1] *= shrink;
      }
    }

#pragma unroll
    for (int d = 0; d < tile; d += 16) {
      const float(&left)[4] = score[d / 8], (&right)[4] = score[d / 8 + 1];
      const unsigned a[4] = {pair_of(left[0], left[1]), pair_of(left[2], left[3]), pair_of(right[0], right[1]),
                             pair_of(right[2], right[3])};
#pragma unroll
      for (int n = 0; n < columns / 8; ++n) {
        unsigned b[2];
        load_transposed(b, &values[d + lane % 16][n * 8]);
        multiply_add(out[n], a, b);
      }
    }
    __syncthreads();
  }

#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int query = first_query + row + half * 8;
    const float inverse = 1.0f / total[half];
#pragma unroll
    for (int n = 0; n < columns / 8; ++n) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const int col = first_column + n * 8 + pair + e;
        if (query < seq && col < dim) {
          y[head + static_cast<size_t>(query) * dim + col] = __float2half(out[n][half * 2 + e] * inverse);
        }
      }
    }
  }
}

template <int columns>
void launch_tiles(const __half* q, const __half* k, const __half* v, __half* y, int heads, int seq, int dim,
                  cudaStream_t stream) {
  const dim3 grid((seq + tile - 1) / tile, (dim + columns - 1) / columns, heads);
  if (dim % width == 0) {
    attend<true, columns><<<grid, threads, 0, stream>>>(q, k, v, y, seq, dim);
  } else {
    attend<false, columns><<<grid, threads, 0, stream>>>(q, k, v, y, seq, dim);
  }
}

extern "C" void launch(const __half* q, const __half* k, const __half* v, __half* y, int batch, int heads, int seq,
                       int dim, cudaStream_t stream) {
  if (dim <= 64) {
    launch_tiles<64>(q, k, v, y, batch * heads, seq, dim, stream);
  } else {
    launch_tiles<128>(q, k, v, y, batch * heads, seq, dim, stream);
  }
}
