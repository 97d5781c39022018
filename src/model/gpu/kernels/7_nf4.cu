// Matrices in NF4 (model/weights/nf4.h): expanded as a whole for products of many rows, and in registers for a few.
//
// `codes`: two elements a byte, the first in the high half. `absmax`: for each 64 elements an index into the map;
// `nested`: a factor for each 256 of those. `numbers`: nf4_numbers floats for each part, {offset, map of 256}. Parts
// are matrices that were quantised on their own and lie one below the other (q, k, v).
#define nf4_numbers 257

__constant__ float nf4_values[16] = {-1.0f,
                                     -0.6961928009986877f,
                                     -0.5250730514526367f,
                                     -0.39491748809814453f,
                                     -0.28444138169288635f,
                                     -0.18477343022823334f,
                                     -0.09105003625154495f,
                                     0.0f,
                                     0.07958029955625534f,
                                     0.16093020141124725f,
                                     0.24611230194568634f,
                                     0.33791524171829224f,
                                     0.44070982933044434f,
                                     0.5626170039176941f,
                                     0.7229568362236023f,
                                     1.0f};

// As the CPU computes it: no fused multiply-add.
__device__ inline float nf4_scale(float map, float nested, float offset) {
  return __fadd_rn(__fmul_rn(map, nested), offset);
}

// Eight elements from a word of codes.
template <class T>
__device__ inline void nf4_eight(u32 word, float scale, const float* values, T* out);
template <>
__device__ inline void nf4_eight<bf16>(u32 word, float scale, const float* values, bf16* out) {
  float eight[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) eight[i] = __fmul_rn(values[word >> (i % 2 == 0 ? 4 * i + 4 : 4 * i - 4) & 15], scale);
  Pack<bf16>::store(out, eight);
}
template <>
__device__ inline void nf4_eight<float>(u32 word, float scale, const float* values, float* out) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float four[4];
    for (int k = 0; k < 4; ++k) {
      const int i = 4 * half + k;
      four[k] = __fmul_rn(values[word >> (i % 2 == 0 ? 4 * i + 4 : 4 * i - 4) & 15], scale);
    }
    Pack<float>::store(out + 4 * half, four);
  }
}

// out = all `count` elements of one part; codes are readable up to the next multiple of 16 bytes, `out` begins at one.
// A warp takes 1024 elements at a time: loads of 16 bytes a lane; through shared memory, so that its stores lie side
// by side as well. 256 threads.
template <class T>
__device__ void nf4_expand(const unsigned char* codes, const unsigned char* absmax, const float* nested,
                           const float* numbers, T* out, u64 count) {
  __shared__ float values[16], map[256];
  __shared__ uint4 stage[8][32];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  if (threadIdx.x < 16) values[threadIdx.x] = nf4_values[threadIdx.x];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) map[i] = numbers[1 + i];
  const float offset = numbers[0];
  __syncthreads();
  const u64 step = static_cast<u64>(gridDim.x) * 8 * 1024;
  const auto fetch = [&](u64 begin) {
    const u64 at = begin + lane * 32;
    return at < count ? load_now(codes + at / 2) : make_uint4(0, 0, 0, 0);
  };
  u64 begin = (static_cast<u64>(blockIdx.x) * 8 + warp) * 1024;
  uint4 raw = fetch(begin);
  for (; begin < count; begin += step) {
    stage[warp][lane] = raw;
    raw = fetch(begin + step);
    // The 16 blocks of 64 elements: one for each of the first lanes.
    float scale = 0;
    const u64 block = begin / 64 + lane;
    if (lane < 16 && block * 64 < count) scale = nf4_scale(map[absmax[block]], nested[block / 256], offset);
    __syncwarp();
    const u32* words = reinterpret_cast<const u32*>(stage[warp]);
#pragma unroll
    for (int s = 0; s < 4; ++s) {
      const int chunk = s * 32 + lane;
      const u64 at = begin + chunk * 8;
      const float own = __shfl_sync(0xffffffffu, scale, chunk / 8);
      if (at + 8 <= count) {
        nf4_eight<T>(words[chunk], own, values, out + at);
      } else {
        for (u64 i = at; i < count; ++i)
          out[i] = from_float<T>(__fmul_rn(values[words[chunk] >> (i % 2 == 0 ? 4 * (i - at) + 4 : 4 * (i - at) - 4) & 15], own));
      }
    }
    __syncwarp();
  }
}
FOR_BOTH_TYPES(nf4_expand,
               (const unsigned char* codes, const unsigned char* absmax, const float* nested, const float* numbers,
                bf16* out, u64 count),
               (const unsigned char* codes, const unsigned char* absmax, const float* nested, const float* numbers,
                float* out, u64 count),
               (codes, absmax, nested, numbers, out, count))

// y (rows, out) = x (rows, in) W^T for one to eight rows, in multiples of 64; weights are expanded in registers, and
// the matrix instruction sums. A block does 16 outputs at a time, its warps divide `in`; with `pairs` every other warp
// does row i of the gate, its neighbour row i of up (W (2 out, in)), and y = silu(gate) * up. x is first normed if
// `norm` is not null; y = sum + bias + residual, where those are not null; residual may be y.
//
// What makes it fast: two codes are one byte, and a table of all 256 pairs is there so often that a look-up gives two
// elements and no lane waits for another. `exact`: pairs of floats, 16 times; they take their factor and are rounded to
// bf16, so that the weights are the trainer's to the last bit. Else: pairs of bf16, 32 times; a block's factor is one of
// its sum. The codes are then rounded instead of the weights, and a third of the work is spared.
//
// `firsts` has for each part its first row, and the index of its first nested factor. Dynamic shared memory: the table
// (32 KB either way), maps (parts * 256 floats), sums (128 floats a warp), and with `staged` x: rows * (in + 8) elements.
__device__ inline u32 rounded_pair(float low, float high) {
  u32 pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

template <bool exact>
__device__ void nf4_rows(const bf16* x, int x_stride, int rows, const bf16* norm, float epsilon,
                         const unsigned char* codes, const unsigned char* absmax, const float* nested,
                         const int* firsts, const float* numbers, int parts, const bf16* bias, const bf16* residual,
                         bf16* y, int y_stride, int in, int out, int pairs, int staged) {
  extern __shared__ uint4 shared_bytes[];
  __shared__ float scratch[32];
  u32* table = reinterpret_cast<u32*>(shared_bytes);
  float* maps = reinterpret_cast<float*>(table + 256 * 32);
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
  float* partial = maps + parts * 256;  // (warps, 16, 8)
  bf16* own_x = reinterpret_cast<bf16*>(partial + warps * 128);
  const int line = lane >> 2, quad = lane & 3;
  const int sides = pairs ? 2 : 1, side = pairs ? warp & 1 : 0, slice = pairs ? warp >> 1 : warp;
  const int blocks = in / 64, share = (blocks + warps / sides - 1) / (warps / sides);
  const int first_block = min(slice * share, blocks), end_block = min(first_block + share, blocks);
  const int count = (out + 15) / 16;

  // A lane has two rows, 8 above each other, and a quarter of each block. Numbers take half of the registers of
  // addresses.
  constexpr int ahead = 4;  // blocks that are under way; lane `quad` of a row brings the factor of one of them
  uint2 raw[2][ahead];
  u32 row_codes[2];
  int row_absmax[2], row_map[2], row_nested[2], in_part[2];  // in_part: blocks of the part before this one
  float offset[2], row_factor[2];
  unsigned char map_index[2];
  const auto fetch = [&](int h, int i, int block) {
    if (block < end_block) raw[h][i] = __ldg(reinterpret_cast<const uint2*>(codes + (row_codes[h] + block * 32)));
  };
  const auto fetch_factors = [&](int block) {
    if (block + quad >= end_block) return;
    for (int h = 0; h < 2; ++h) {
      map_index[h] = absmax[row_absmax[h] + block];
      row_factor[h] = nested[row_nested[h] + (in_part[h] + block) / 256];
    }
  };
  const auto begin = [&](int tile) {
    for (int h = 0; h < 2; ++h) {
      const int row = min(tile * 16 + line + 8 * h, out - 1) + side * out;
      int part = 0;
      while (part + 1 < parts && row >= firsts[2 * (part + 1)]) ++part;
      row_codes[h] = row * (in / 2) + 8 * quad;
      row_absmax[h] = row * blocks + quad;
      row_nested[h] = firsts[2 * part + 1];
      row_map[h] = part * 256;
      offset[h] = numbers[part * nf4_numbers];
      in_part[h] = (row - firsts[2 * part]) * blocks + quad;
      map_index[h] = 0;
      row_factor[h] = 0;
      for (int i = 0; i < ahead; ++i) fetch(h, i, first_block + i);
    }
    fetch_factors(first_block);
  };
  // Weights are nobody's result: the first are under way before x is there.
  begin(blockIdx.x);
  for (int pair = warp; pair < 256; pair += warps) {
    const float first = nf4_values[pair >> 4], second = nf4_values[pair & 15];
    if (exact) table[pair * 32 + lane] = __float_as_uint(lane % 2 == 0 ? first : second);
    else table[pair * 32 + lane] = rounded_pair(first, second);
  }
  const float2* wide_table = reinterpret_cast<const float2*>(table);
  for (int i = threadIdx.x; i < parts * 256; i += blockDim.x) maps[i] = numbers[i / 256 * nf4_numbers + 1 + i % 256];
  after_previous();

  if (staged) {
    for (int row = 0; row < rows; ++row) {
      const bf16* from = x + static_cast<u64>(row) * x_stride;
      float inverse = 1;
      if (norm != nullptr) {
        float squares = 0;
        for (int i = threadIdx.x * 8; i < in; i += blockDim.x * 8) {
          float eight[8];
          Pack<bf16>::load(from + i, eight);
          for (int k = 0; k < 8; ++k) squares += eight[k] * eight[k];
        }
        inverse = rsqrtf(block_sum(squares, scratch) / in + epsilon);
      }
      for (int i = threadIdx.x * 8; i < in; i += blockDim.x * 8) {
        float eight[8];
        Pack<bf16>::load(from + i, eight);
        if (norm != nullptr) {
          float weights[8];
          Pack<bf16>::load(norm + i, weights);
          for (int k = 0; k < 8; ++k) eight[k] = to_float(from_float<bf16>(eight[k] * inverse)) * weights[k];
        }
        Pack<bf16>::store(own_x + row * (in + 8) + i, eight);
      }
    }
  }
  __syncthreads();
  const bf16* lines = staged ? own_x + line * (in + 8) : x + static_cast<u64>(line) * x_stride;

  for (int tile = blockIdx.x; tile < count; tile += gridDim.x) {
    if (tile != static_cast<int>(blockIdx.x)) begin(tile);
    float sums[4] = {};
    for (int block = first_block; block < end_block; block += ahead) {
      float factor[2];
      for (int h = 0; h < 2; ++h)
        factor[h] = nf4_scale(maps[row_map[h] + map_index[h]], row_factor[h], offset[h]);
      fetch_factors(block + ahead);
#pragma unroll
      for (int i = 0; i < ahead; ++i) {
        if (block + i >= end_block) continue;
        uint4 values[2] = {};
        if (line < rows) {
          const uint4* from = reinterpret_cast<const uint4*>(lines + (block + i) * 64 + quad * 16);
          values[0] = from[0];
          values[1] = from[1];
        }
        const u32 b[8] = {values[0].x, values[0].y, values[0].z, values[0].w,
                          values[1].x, values[1].y, values[1].z, values[1].w};
        float own[2], products[4] = {};
        for (int h = 0; h < 2; ++h) own[h] = __shfl_sync(0xffffffffu, factor[h], (lane & ~3) | i);
#pragma unroll
        for (int step = 0; step < 4; ++step) {
          u32 a[4];
#pragma unroll
          for (int h = 0; h < 2; ++h) {
            const u32 word = step < 2 ? raw[h][i].x : raw[h][i].y;
            for (int half = 0; half < 2; ++half) {
              const u32 pair = word >> (16 * (step & 1) + 8 * half) & 255;
              if (exact) {
                const float2 two = wide_table[pair * 16 + (lane & 15)];
                a[h + 2 * half] = rounded_pair(__fmul_rn(two.x, own[h]), __fmul_rn(two.y, own[h]));
              } else {
                a[h + 2 * half] = table[pair * 32 + lane];
              }
            }
          }
          matrix_step(exact ? sums : products, a, b[2 * step], b[2 * step + 1]);
        }
        for (int h = 0; h < 2; ++h) fetch(h, i, block + i + ahead);
        if (exact) continue;
        for (int k = 0; k < 4; ++k) sums[k] += own[k / 2] * products[k];
      }
    }
    for (int h = 0; h < 2; ++h)
      for (int k = 0; k < 2; ++k) partial[(warp * 16 + line + 8 * h) * 8 + 2 * quad + k] = sums[2 * h + k];
    __syncthreads();
    if (threadIdx.x < 128) {
      const int o = tile * 16 + (threadIdx.x >> 3), row = threadIdx.x & 7;
      if (o < out && row < rows) {
        float total[2] = {};
        for (int w = 0; w < warps; ++w) total[w % sides] += partial[w * 128 + threadIdx.x];
        bf16* place = y + static_cast<u64>(row) * y_stride + o;
        if (pairs) {
          const float gate = to_float(from_float<bf16>(total[0])), up = to_float(from_float<bf16>(total[1]));
          *place = from_float<bf16>(gate * sigmoid(gate) * up);
        } else {
          float sum = total[0];
          if (bias != nullptr) sum += to_float(bias[o]);
          if (residual != nullptr)
            sum = to_float(from_float<bf16>(sum)) + to_float(residual[static_cast<u64>(row) * y_stride + o]);
          *place = from_float<bf16>(sum);
        }
      }
    }
    __syncthreads();
  }
}
#define NF4_ROWS(name, exact)                                                                                          \
  extern "C" __global__ void __launch_bounds__(512, 2)                                                                 \
      name(const bf16* x, int x_stride, int rows, const bf16* norm, float epsilon, const unsigned char* codes,         \
           const unsigned char* absmax, const float* nested, const int* firsts, const float* numbers, int parts,       \
           const bf16* bias, const bf16* residual, bf16* y, int y_stride, int in, int out, int pairs, int staged) {    \
    nf4_rows<exact>(x, x_stride, rows, norm, epsilon, codes, absmax, nested, firsts, numbers, parts, bias, residual,   \
                    y, y_stride, in, out, pairs, staged);                                                              \
  }
NF4_ROWS(nf4_rows_exact, true)
NF4_ROWS(nf4_rows_rounded, false)
