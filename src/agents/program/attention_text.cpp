// Attention, as text.

#include <string_view>

#include "agents/program/attention.h"
#include "agents/program/contraction.h"

namespace kw::program {
namespace {

constexpr std::string_view pack_text =
    R"(__device__ void pack(CUDA_TYPE, unsigned& made, float low, float high) {
  asm("cvt.rn.PTX_TYPEx2.f32 %0, %1, %2;" : "=r"(made) : "f"(high), "f"(low));
}
)";

constexpr std::string_view tiles_text =
    R"(// Attention: queries of one head that a block has, and all keys and values that they see. Element (line, k) of each
// is from[line * step + k].
template <class T>
struct Attended {
  const T *query, *key, *value;
  int query_step, key_step, value_step;
  int queries, keys, depth, features;  // `depth`: of queries and keys; `features`: of values
  int row;                             // the block's first query
  int shift;                           // a query sees the keys up to its own place + shift; `keys`: all
  float factor;                        // of scores, to powers of two
  bool zeros;                          // for a query that sees no key; else NaN

  // Keys that any of so many queries sees.
  __device__ int seen(int count) const { return max(0, min(keys, row + shift + count)); }
};

__device__ float power_of_two(float x) {
  float made;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(made) : "f"(x));
  return made;
}

// Lines into shared memory, `pitch` apart; zeros where there are none. `whole`: in pieces of 16 bytes, which no edge cuts.
template <class T, bool whole, int lines, int width, int pitch, int threads>
__device__ void copy_lines(T* tile, const T* from, int step, int count, int there) {
  constexpr int piece = whole ? 8 : 1, across = width / piece;
  constexpr bool even = threads % across == 0;
#pragma unroll
  for (int l = 0; l < (lines * across + threads - 1) / threads; ++l) {
    const int i = l * threads + threadIdx.x;
    const int line = even ? l * (threads / across) + (int)threadIdx.x / across : i / across;
    const int k = (even ? (int)threadIdx.x % across : i % across) * piece;
    if (lines * across % threads != 0 && i >= lines * across) break;
    const bool inside = line < count && k < there;
    const T* source = from + (long long)line * step + k;
    T* to = tile + line * pitch + k;
    if (whole)
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"((unsigned)__cvta_generic_to_shared(to)),
                   "l"(source), "r"(inside ? 16 : 0)
                   : "memory");
    else
      *to = inside ? *source : (T)0.0f;
  }
}
)";

constexpr std::string_view attend_text =
    R"(// A number of keys and queries is the sum of `parts` of T, one of values that of `parts_v`; a line in shared memory has
// 8 elements more than those, so that no bank is met twice. `computed`: scores are what `score` makes of products.
// `kept`: queries stay in registers. `finish` gets two elements of a row at a time.
template <class T, bool whole, bool computed, int head, int head_v, int parts, int parts_v, int tile_q, int tile_k,
          int warps, int stages, bool kept, class Score, class Finish>
__device__ void attend(const Attended<T>& in, const Score& score, const Finish& finish) {
  constexpr int threads = 32 * warps, down = tile_q / warps / 16, across = tile_k / 8, wide = head_v / 8;
  constexpr int slices = head / 16, pitch = parts * head + 8, pitch_v = parts_v * head_v + 8;
  constexpr int key_tile = tile_k * pitch, both = key_tile + tile_k * pitch_v;
  const float least = __int_as_float(0xff800000);
  extern __shared__ __align__(128) unsigned char tiles_of_all_stages[];
  T* queries = reinterpret_cast<T*>(tiles_of_all_stages);
  T* tiles = queries + tile_q * pitch;
  const int warp_row = threadIdx.x / 32 * (16 * down), lane = threadIdx.x % 32, half = lane / 8 % 2, other = lane / 16;
  const int steps = (in.seen(tile_q) + tile_k - 1) / tile_k, open_steps = in.seen(1) / tile_k;
  const auto begin = [&](int step) {
    const int first = step * tile_k;
    T* to = tiles + step % stages * both;
    if (step < steps) {
#pragma unroll
      for (int p = 0; p < parts; ++p)
        copy_lines<T, whole, tile_k, head, pitch, threads>(
            to + p * head, in.key + (long long)first * in.key_step + p * in.depth, in.key_step, in.keys - first,
            in.depth);
#pragma unroll
      for (int p = 0; p < parts_v; ++p)
        copy_lines<T, whole, tile_k, head_v, pitch_v, threads>(
            to + key_tile + p * head_v, in.value + (long long)first * in.value_step + p * in.features, in.value_step,
            in.keys - first, in.features);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
#pragma unroll
  for (int p = 0; p < parts; ++p)
    copy_lines<T, whole, tile_q, head, pitch, threads>(queries + p * head,
                                                       in.query + (long long)in.row * in.query_step + p * in.depth,
                                                       in.query_step, in.queries - in.row, in.depth);
  asm volatile("cp.async.commit_group;" ::: "memory");
#pragma unroll 1
  for (int s = 0; s < stages - 1; ++s) begin(s);

  unsigned q[kept ? slices : parts][down][4];
  const auto read_queries = [&](int s, int p) {
#pragma unroll
    for (int i = 0; i < down; ++i)
      read<false>(q[kept ? s : p][i], queries + (warp_row + 16 * i + 8 * half + lane % 8) * pitch + p * head + 16 * s +
                                          8 * other);
  };
  if (kept) {
    asm volatile("cp.async.wait_group %0;" ::"n"(stages - 1) : "memory");
    __syncthreads();
#pragma unroll
    for (int s = 0; s < slices; ++s) read_queries(s, 0);
  }
  float out[down][wide][4] = {}, top[down][2], total[down][2] = {};
#pragma unroll
  for (int i = 0; i < down; ++i) top[i][0] = top[i][1] = least;

#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    asm volatile("cp.async.wait_group %0;" ::"n"(stages - 2) : "memory");
    __syncthreads();
    begin(step + stages - 1);
    const T* keys = tiles + step % stages * both;
    const T* values = keys + key_tile;
    float scores[down][across][4] = {};
#pragma unroll
    for (int s = 0; s < slices; ++s) {
#pragma unroll
      for (int p = 0; p < parts && !kept; ++p) read_queries(s, p);
#pragma unroll
      for (int j = 0; j < across; j += 2) {
#pragma unroll
        for (int p = parts - 1; p >= 0; --p) {
          unsigned k[4];
          read<false>(k, keys + (8 * j + 8 * other + lane % 8) * pitch + p * head + 16 * s + 8 * half);
#pragma unroll
          for (int o = parts - 1 - p; o >= 0; --o) {
#pragma unroll
            for (int i = 0; i < down; ++i) {
              multiply(T(), scores[i][j], q[kept ? s : o][i], k[0], k[1]);
              multiply(T(), scores[i][j + 1], q[kept ? s : o][i], k[2], k[3]);
            }
          }
        }
      }
    }
    if (computed || step >= open_steps) {
#pragma unroll
      for (int i = 0; i < down; ++i) {
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          const int row = in.row + warp_row + 16 * i + 8 * r + lane / 4;
          const int end = computed && row >= in.queries ? 0 : min(in.keys, row + in.shift + 1);
#pragma unroll
          for (int j = 0; j < across; ++j) {
#pragma unroll
            for (int e = 2 * r; e < 2 * r + 2; ++e) {
              const int key = step * tile_k + 8 * j + lane % 4 * 2 + e % 2;
              float& one = scores[i][j][e];
              one = key < end ? score(row, key, one) : least;
            }
          }
        }
      }
    }
    // The maximum that exponents are taken from may be 8 less than the true one: then nothing must be scaled again.
    float highest[down][2];
    bool grows = false;
#pragma unroll
    for (int i = 0; i < down; ++i) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        float& most = highest[i][r];
        most = least;
#pragma unroll
        for (int j = 0; j < across; ++j) most = fmaxf(most, fmaxf(scores[i][j][2 * r], scores[i][j][2 * r + 1]));
        most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 1));
        most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 2));
        grows = grows || (most - top[i][r]) * in.factor > 8.0f;
      }
    }
    if (__any_sync(0xffffffffu, grows)) {
#pragma unroll
      for (int i = 0; i < down; ++i) {
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          const float next = fmaxf(top[i][r], highest[i][r]);
          const float less = next == least ? 1.0f : power_of_two((top[i][r] - next) * in.factor);
          top[i][r] = next;
          total[i][r] *= less;
#pragma unroll
          for (int j = 0; j < wide; ++j) out[i][j][2 * r] *= less, out[i][j][2 * r + 1] *= less;
        }
      }
    }
    unsigned weights[parts_v][down][across / 2][4];
#pragma unroll
    for (int i = 0; i < down; ++i) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const float from = top[i][r] == least ? 0.0f : computed ? top[i][r] : top[i][r] * in.factor;
#pragma unroll
        for (int j = 0; j < across; ++j) {
          float two[2];
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            const float one = scores[i][j][2 * r + e];
            two[e] = power_of_two(computed ? (one - from) * in.factor : one * in.factor - from);
            total[i][r] += two[e];
          }
#pragma unroll
          for (int p = 0; p < parts_v; ++p) {
            unsigned& made = weights[p][i][j / 2][j % 2 * 2 + r];
            pack(T(), made, two[0], two[1]);
            if (p + 1 < parts_v) two[0] -= __uint_as_float(made << 16), two[1] -= __uint_as_float(made & 0xffff0000u);
          }
        }
      }
    }
#pragma unroll
    for (int s = 0; s < across / 2; ++s) {
#pragma unroll
      for (int j = 0; j < wide; j += 2) {
#pragma unroll
        for (int p = parts_v - 1; p >= 0; --p) {
          unsigned v[4];
          read<true>(v, values + (16 * s + 8 * half + lane % 8) * pitch_v + p * head_v + 8 * j + 8 * other);
#pragma unroll
          for (int o = parts_v - 1 - p; o >= 0; --o) {
#pragma unroll
            for (int i = 0; i < down; ++i) {
              multiply(T(), out[i][j], weights[o][i][s], v[0], v[1]);
              multiply(T(), out[i][j + 1], weights[o][i][s], v[2], v[3]);
            }
          }
        }
      }
    }
  }
  asm volatile("cp.async.wait_all;" ::: "memory");
#pragma unroll
  for (int i = 0; i < down; ++i) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float sum = total[i][r];
      sum += __shfl_xor_sync(0xffffffffu, sum, 1);
      sum += __shfl_xor_sync(0xffffffffu, sum, 2);
      const float part = in.zeros && sum == 0.0f ? 0.0f : 1.0f / sum;
#pragma unroll
      for (int j = 0; j < wide; ++j)
        finish(in.row + warp_row + 16 * i + 8 * r + lane / 4, 8 * j + lane % 4 * 2, out[i][j][2 * r] * part,
               out[i][j][2 * r + 1] * part);
    }
  }
}
)";

constexpr std::string_view store_text = R"(// Two values next to each other, as far as there is room.
template <bool whole, class T>
__device__ void store_two(T* to, T one, T two, int room) {
  if (whole) {
    struct alignas(2 * sizeof(T)) Pair {
      T one, two;
    };
    if (room > 0) *reinterpret_cast<Pair*>(to) = Pair{one, two};
  } else {
    if (room > 0) to[0] = one;
    if (room > 1) to[1] = two;
  }
}
)";

}  // namespace

std::string attention_functions(const std::set<Arithmetic>& used) {
  if (used.empty()) return "";
  std::string made;
  for (const Arithmetic arithmetic : used) made += with_type(pack_text, arithmetic);
  for (const std::string_view part : {tiles_text, attend_text, store_text}) made += "\n" + std::string(part);
  return made + "\n";
}

}  // namespace kw::program
