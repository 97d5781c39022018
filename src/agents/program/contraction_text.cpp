#include <string_view>
#include <utility>

#include "agents/program/contraction.h"

namespace kw::program {
namespace {

constexpr std::string_view shared_text = R"(// What a block computes: a tile of one product, or of a part of its sum.
struct Block {
  int batch, part, row, col, begin, end;
};

// `group`: so many rows of tiles run together, so that what they share stays in the L2; of a single product only.
template <int tile_m, int tile_n, int tile_k, int group>
__device__ Block block_at(int depth, int splits) {
  const int each = ((depth + splits - 1) / splits + tile_k - 1) / tile_k * tile_k;
  Block made;
  made.batch = group > 1 ? 0 : blockIdx.z / splits;
  made.part = group > 1 ? 0 : blockIdx.z % splits;
  made.row = (group > 1 ? blockIdx.z * group + blockIdx.x : blockIdx.y) * tile_m;
  made.col = (group > 1 ? blockIdx.y : blockIdx.x) * tile_n;
  made.begin = made.part * each;
  made.end = min(depth, made.begin + each);
  return made;
}

// Where an element of a tile lies in shared memory. Pieces of 16 bytes change places, so that neither copying a tile
// nor reading its fragments meets a bank twice. A tile is [k][line] where memory has lines next to each other.
template <class T, bool by_k, int lines, int depth>
__device__ constexpr unsigned place_of(unsigned line, unsigned k) {
  constexpr unsigned piece = 16 / sizeof(T);
  const unsigned fine = by_k ? line % piece : k % piece;
  if (sizeof(T) == 2) {
    if (by_k) return k * lines + (line / piece ^ k % 8) * piece + fine;
    return line * depth + (k / piece ^ (depth == 32 ? line / 2 % 4 : line % 8)) * piece + fine;
  }
  if (by_k) return k * lines + (line / piece ^ k / 4 % 4 * 2) * piece + fine;
  if (depth == 16) return (line ^ line / 4 % 2) * 16 + k;
  return line * depth + (k / piece ^ line / 4 % 2 * 4) * piece + fine;
}

// Element (line, k) of a factor is from[line * step] + k, or from[k * step] + line where `by_k`. It travels without
// registers. `whole`: in pieces of 16 bytes, which must not be cut by an edge.
template <class T, bool by_k, int lines, int depth, int threads, bool whole>
struct Copied {
  const T* from;
  int step, count;  // lines that there are

  static constexpr unsigned width = whole ? 16 / sizeof(T) : 1, across = (by_k ? lines : depth) / width;
  __device__ void go_to(int first, int k) {
    const int inner = threadIdx.x % across * width, outer = threadIdx.x / across;
    from += by_k ? (long long)(k + outer) * step + first + inner : (long long)(first + outer) * step + k + inner;
    count -= first;
  }
  // The next tile, of which so much is left of the sum.
  __device__ void begin(T* tile, int left) {
    const unsigned inner = threadIdx.x % across * width, outer = threadIdx.x / across;
    const unsigned to = (unsigned)__cvta_generic_to_shared(tile);
#pragma unroll
    for (int l = 0; l < lines * depth / width / threads; ++l) {
      const unsigned down = l * (threads / across), line = by_k ? inner : outer + down, k = by_k ? outer + down : inner;
      const bool there = (int)line < count && (int)k < left;
      const unsigned at = to + sizeof(T) * place_of<T, by_k, lines, depth>(line, k);
      const T* source = from + (long long)down * step;
      if (whole)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(source), "r"(there ? 16 : 0)
                     : "memory");
      else
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(at), "l"(source), "r"(there ? 4 : 0)
                     : "memory");
    }
    from += by_k ? (long long)depth * step : depth;
  }
  __device__ void finish(T*) const {}
};

// The same for a factor whose elements are computed: they wait in registers until the tile before is multiplied.
template <class T, bool by_k, int lines, int depth, int threads, class Element>
struct Gathered {
  Element element;
  int count, first, place;
  T held[lines * depth / threads];

  static __device__ int line_of(unsigned i) { return by_k ? i % lines : i / depth; }
  static __device__ int k_of(unsigned i) { return by_k ? i / lines : i % depth; }
  __device__ void go_to(int line, int k) {
    first = line;
    place = k;
  }
  __device__ void begin(T*, int left) {
#pragma unroll
    for (int l = 0; l < lines * depth / threads; ++l) {
      const int i = l * threads + threadIdx.x, line = first + line_of(i), k = k_of(i);
      held[l] = line < count && k < left ? (T)element(line, place + k) : (T)0.0f;
    }
    place += depth;
  }
  __device__ void finish(T* tile) const {
#pragma unroll
    for (int l = 0; l < lines * depth / threads; ++l) {
      const int i = l * threads + threadIdx.x;
      tile[place_of<T, by_k, lines, depth>(line_of(i), k_of(i))] = held[l];
    }
  }
};

// Tiles travel `stages - 1` steps ahead of what multiplies them.
template <class T, int tile_m, int tile_n, int tile_k, int stages, class Left, class Right, class Multiply>
__device__ void for_each_tile(const Block& block, Left& left, Right& right, const Multiply& multiply) {
  extern __shared__ __align__(128) unsigned char tiles_of_all_stages[];
  T* tiles = reinterpret_cast<T*>(tiles_of_all_stages);
  constexpr int both = (tile_m + tile_n) * tile_k, right_tile = tile_m * tile_k;
  const int steps = (block.end - block.begin + tile_k - 1) / tile_k;
  left.go_to(block.row, block.begin);
  right.go_to(block.col, block.begin);
  int rest = block.end - block.begin;
  const auto begin = [&](int step) {
    T* to = tiles + step % stages * both;
    if (step < steps) {
      left.begin(to, rest);
      right.begin(to + right_tile, rest);
    }
    rest -= tile_k;
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  const auto finish = [&](int step) {
    T* to = tiles + step % stages * both;
    if (step >= steps) return;
    left.finish(to);
    right.finish(to + right_tile);
  };
#pragma unroll 1
  for (int s = 0; s < stages - 1; ++s) {
    begin(s);
    finish(s);
  }
  for (int step = 0; step < steps; ++step) {
    asm volatile("cp.async.wait_group %0;" ::"n"(stages - 2) : "memory");
    __syncthreads();
    begin(step + stages - 1);
    multiply(tiles + step % stages * both, tiles + step % stages * both + right_tile);
    finish(step + stages - 1);
  }
  asm volatile("cp.async.wait_all;" ::: "memory");
}

// Values that lie next to each other, as far as there is room.
template <bool whole, class T, int count>
__device__ void put(T* to, const T (&values)[count], int room) {
  if (whole) {
    struct alignas(sizeof(T) * count) Pack {
      T at[count];
    } pack;
#pragma unroll
    for (int i = 0; i < count; ++i) pack.at[i] = values[i];
    if (room > 0) *reinterpret_cast<Pack*>(to) = pack;
  } else {
#pragma unroll
    for (int i = 0; i < count; ++i)
      if (i < room) to[i] = values[i];
  }
}
)";

constexpr std::string_view lanes_text =
    R"(// values[p][e]: line 32 * (p / 4) + 4 * (lane / 4) + p % 4 from `first`, place k + 4 * (lane % 4) + e of the sum. In
// what order lines and places go into the products is free, so 16 bytes are read at a time.
template <bool by_k, int lines, int depth, int count>
__device__ void read(float (&values)[count][4], const float* tile, int first, int k) {
  const unsigned lane = threadIdx.x % 32;
#pragma unroll
  for (int p = 0; p < count; p += 4) {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const unsigned line = first + 8 * p + lane / 4 * 4, at = k + lane % 4 * 4;
      const float4 v = *reinterpret_cast<const float4*>(
          tile + place_of<float, by_k, lines, depth>(by_k ? line : line + e, by_k ? at + e : at));
      if (by_k)
        values[p][e] = v.x, values[p + 1][e] = v.y, values[p + 2][e] = v.z, values[p + 3][e] = v.w;
      else
        values[p + e][0] = v.x, values[p + e][1] = v.y, values[p + e][2] = v.z, values[p + e][3] = v.w;
    }
  }
}

// A lane has eight results next to each other in each row of 32.
template <int down, int across, class Finish>
__device__ void give_away(const Block& block, int warp_row, int warp_col, const float (&sum)[down][across][4],
                          const Finish& finish) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int p = 0; p < 2 * down; ++p) {
#pragma unroll
    for (int q = 0; q < across; q += 2) {
      const int r = p % 2 * 2 + q / 2 % 2, j = q / 4 * 4;
      const float four[4] = {sum[p / 2][j][r], sum[p / 2][j + 1][r], sum[p / 2][j + 2][r], sum[p / 2][j + 3][r]};
      finish(block.row + warp_row + p / 4 * 32 + lane / 4 * 4 + p % 4,
             block.col + warp_col + q / 4 * 32 + lane % 4 * 8 + q / 2 % 2 * 4, four);
    }
  }
}
)";

constexpr std::string_view float32_text =
    R"(// A float is the sum of two bfloat16 numbers, but for its last seven bits: three products of halves and the sum in
// float are one product to 17 bits.
__device__ unsigned packed(float low, float high) {
  unsigned made;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(made) : "f"(high), "f"(low));
  return made;
}
__device__ void halve(float x, float y, unsigned& high, unsigned& low) {
  high = packed(x, y);
  low = packed(x - __uint_as_float(high << 16), y - __uint_as_float(high & 0xffff0000u));
}
__device__ void multiply(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Tensor cores round sums towards zero, so they add up `tile_k` steps at most, and float additions the rest.
template <int tile_m, int tile_n, int tile_k, int warps_m, int warps_n, int stages, bool left_by_k, bool right_by_k,
          class Left, class Right, class Finish>
__device__ void contract(const Block& block, Left& left, Right& right, const Finish& finish) {
  constexpr int lane_m = tile_m / warps_m / 8, lane_n = tile_n / warps_n / 8, slices = tile_k / 16;
  const int warp = threadIdx.x / 32;
  const int warp_row = warp % warps_m * (tile_m / warps_m), warp_col = warp / warps_m * (tile_n / warps_n);
  float sum[lane_m / 2][lane_n][4] = {};
  for_each_tile<float, tile_m, tile_n, tile_k, stages>(block, left, right, [&](const float* a, const float* b) {
    unsigned a_high[slices][lane_m / 2][4], a_low[slices][lane_m / 2][4];
#pragma unroll
    for (int s = 0; s < slices; ++s) {
      float values[lane_m][4];
      read<left_by_k, tile_m, tile_k>(values, a, warp_row, 16 * s);
#pragma unroll
      for (int i = 0; i < lane_m / 2; ++i) {
#pragma unroll
        for (int r = 0; r < 4; ++r) {
          const float* pair = values[2 * i + r % 2] + r / 2 * 2;
          halve(pair[0], pair[1], a_high[s][i][r], a_low[s][i][r]);
        }
      }
    }
#pragma unroll
    for (int q = 0; q < lane_n; q += 4) {
      float values[slices][4][4];
#pragma unroll
      for (int s = 0; s < slices; ++s) read<right_by_k, tile_n, tile_k>(values[s], b, warp_col + 8 * q, 16 * s);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        float made[lane_m / 2][4] = {};
#pragma unroll
        for (int s = 0; s < slices; ++s) {
          unsigned b_high[2], b_low[2];
          halve(values[s][j][0], values[s][j][1], b_high[0], b_low[0]);
          halve(values[s][j][2], values[s][j][3], b_high[1], b_low[1]);
#pragma unroll
          for (int i = 0; i < lane_m / 2; ++i) multiply(made[i], a_low[s][i], b_high);
#pragma unroll
          for (int i = 0; i < lane_m / 2; ++i) multiply(made[i], a_high[s][i], b_low);
#pragma unroll
          for (int i = 0; i < lane_m / 2; ++i) multiply(made[i], a_high[s][i], b_high);
        }
#pragma unroll
        for (int i = 0; i < lane_m / 2; ++i) {
#pragma unroll
          for (int r = 0; r < 4; ++r) sum[i][q + j][r] += made[i][r];
        }
      }
    }
  });
  give_away(block, warp_row, warp_col, sum, finish);
}
)";

constexpr std::string_view tf32_text = R"(// A float is nearly the sum of two numbers of TF32, which has 11 bits.
__device__ void part(float x, unsigned& high, unsigned& low) {
  high = (__float_as_uint(x) + 0x1000u) & 0xffffe000u;
  low = __float_as_uint(x - __uint_as_float(high));
}
__device__ void multiply_parts(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Tensor cores round sums towards zero, so they add up 16 steps, and float additions the rest.
template <int tile_m, int tile_n, int tile_k, int warps_m, int warps_n, int stages, bool left_by_k, bool right_by_k,
          class Left, class Right, class Finish>
__device__ void contract_precisely(const Block& block, Left& left, Right& right, const Finish& finish) {
  constexpr int lane_m = tile_m / warps_m / 8, lane_n = tile_n / warps_n / 8;
  const int warp = threadIdx.x / 32;
  const int warp_row = warp % warps_m * (tile_m / warps_m), warp_col = warp / warps_m * (tile_n / warps_n);
  float sum[lane_m / 2][lane_n][4] = {};
  for_each_tile<float, tile_m, tile_n, tile_k, stages>(block, left, right, [&](const float* a, const float* b) {
#pragma unroll
    for (int s = 0; s < tile_k / 16; ++s) {
      unsigned a_high[2][lane_m / 2][4], a_low[2][lane_m / 2][4];
      float values[lane_m][4];
      read<left_by_k, tile_m, tile_k>(values, a, warp_row, 16 * s);
#pragma unroll
      for (int h = 0; h < 2; ++h) {
#pragma unroll
        for (int i = 0; i < lane_m / 2; ++i) {
#pragma unroll
          for (int r = 0; r < 4; ++r) part(values[2 * i + r % 2][2 * h + r / 2], a_high[h][i][r], a_low[h][i][r]);
        }
      }
#pragma unroll
      for (int q = 0; q < lane_n; q += 4) {
        float others[4][4];
        read<right_by_k, tile_n, tile_k>(others, b, warp_col + 8 * q, 16 * s);
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          float made[lane_m / 2][4] = {};
#pragma unroll
          for (int h = 0; h < 2; ++h) {
            unsigned b_high[2], b_low[2];
            part(others[j][2 * h], b_high[0], b_low[0]);
            part(others[j][2 * h + 1], b_high[1], b_low[1]);
#pragma unroll
            for (int i = 0; i < lane_m / 2; ++i) multiply_parts(made[i], a_low[h][i], b_high);
#pragma unroll
            for (int i = 0; i < lane_m / 2; ++i) multiply_parts(made[i], a_high[h][i], b_low);
#pragma unroll
            for (int i = 0; i < lane_m / 2; ++i) multiply_parts(made[i], a_high[h][i], b_high);
          }
#pragma unroll
          for (int i = 0; i < lane_m / 2; ++i) {
#pragma unroll
            for (int r = 0; r < 4; ++r) sum[i][q + j][r] += made[i][r];
          }
        }
      }
    }
  });
  give_away(block, warp_row, warp_col, sum, finish);
}
)";

}  // namespace

Dtype type_of(Arithmetic arithmetic) {
  switch (arithmetic) {
    case Arithmetic::float16:
      return Dtype::float16;
    case Arithmetic::bfloat16:
      return Dtype::bfloat16;
    default:
      return Dtype::float32;
  }
}

std::string contraction_functions(const std::set<Arithmetic>& used) {
  if (used.empty()) return "";
  std::string made(shared_text);
  bool lanes = false, halves = false;
  for (const Arithmetic arithmetic : used) {
    const bool single = type_of(arithmetic) == Dtype::float32;
    if (single && !std::exchange(lanes, true)) made += "\n" + std::string(lanes_text);
    halves = halves || !single;
    if (arithmetic == Arithmetic::bfloat16_parts) made += "\n" + std::string(float32_text);
    if (arithmetic == Arithmetic::tf32_parts) made += "\n" + std::string(tf32_text);
  }
  if (halves) made += "\n" + half_functions();
  return made + "\n";
}

}  // namespace kw::program
