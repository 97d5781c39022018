// Attention of single queries over pages of 16 keys and values (layout: rotate_into_cache). One block does one query
// row, one kv head with all its query heads, and one part of the context; parts are joined afterwards.

__device__ inline void matrix_step(float (&sums)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// The part's pages of a row: [begin, end).
__device__ inline void part_of(int length, int part, int parts, int& begin, int& end) {
  const int pages = (length + 15) / 16, each = (pages + parts - 1) / parts;
  begin = min(part * each, pages);
  end = min(begin + each, pages);
}

// Up to 16 query heads share a kv head: they are the 16 rows of the matrix instruction. Its inner index may stand for
// the head's elements in any order, if both sides agree: a thread takes D/4 neighbours, in loads of 16 bytes. For the
// values the inner index is the key: column c of score tile t is key 4 (c / 2) + 2 t + c % 2, so that the scores of a
// thread are of the four neighbouring keys whose values it loads.
struct Rotation {
  const bf16* bias;  // null: none
  const int *positions, *slots;
  const float *cosine, *sine;
};

// The queries of a kv head's group, rotated, into `turned`; with `writes` also its key and value, into the cache.
template <int D>
__device__ inline void rotate_group(const bf16* own, const Rotation& rotation, int row, int heads, int kv_heads,
                                    int kv_head, bool writes, bf16 (&turned)[16][D], bf16* keys, bf16* values) {
  constexpr int half = D / 2;
  const int group = heads / kv_heads, slot = rotation.slots[row];
  if (slot < 0) return;
  const u64 angles = static_cast<u64>(rotation.positions[row]) * half;
  const u64 page = (static_cast<u64>(slot >> 4) * kv_heads + kv_head) * (D * 16);
  const int place = slot & 15;
  for (int i = threadIdx.x; i < (group + (writes ? 1 : 0)) * half; i += blockDim.x) {
    const int which = i / half, pair = i % half;
    const int low = (which < group ? kv_head * group + which : heads + kv_head) * D + pair, high = low + half;
    float a = to_float(own[low]), b = to_float(own[high]);
    if (rotation.bias != nullptr) a += to_float(rotation.bias[low]), b += to_float(rotation.bias[high]);
    const float c = rotation.cosine[angles + pair], s = rotation.sine[angles + pair];
    bf16* to = which < group ? turned[which] : keys + page + place * D;
    to[pair] = from_float<bf16>(a * c - b * s);
    to[pair + half] = from_float<bf16>(b * c + a * s);
  }
  if (!writes) return;
  for (int i = threadIdx.x; i < D; i += blockDim.x) {
    const int at = (heads + kv_heads + kv_head) * D + i;
    bf16 value = own[at];
    if (rotation.bias != nullptr) value = from_float<bf16>(to_float(value) + to_float(rotation.bias[at]));
    values[page + i * 16 + place] = value;
  }
}

// rotates: qkv are fresh from the product, one token for each row; what rotate_into_cache does is done here.
template <int D, bool rotates>
__device__ void paged_attention(const bf16* qkv, Rotation rotation, bf16* keys, bf16* values, const int* tables,
                                const int* table_of_row, const int* lengths, const int* table_stride, bf16* out,
                                float* part_out, float* part_scale, int heads, int kv_heads, float scale) {
  constexpr int warps = 4, steps = D / 16, tiles = D / 8;
  __shared__ float joined[warps][16][D];
  __shared__ float peaks[warps][16], totals[warps][16];
  __shared__ __align__(16) bf16 turned[rotates ? 16 : 1][D];
  const int part = blockIdx.x, parts = gridDim.x, kv_head = blockIdx.y, row = blockIdx.z;
  const int group = heads / kv_heads, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int quad = lane & 3, line = lane >> 2;
  // Lengths and tables came before the first kernel of the step, most keys before the step.
  const int length = lengths[row];
  int begin, end;
  part_of(length, part, parts, begin, end);
  const int* table = tables + static_cast<u64>(table_of_row[row]) * *table_stride;
  const auto bring = [&](int p) {  // towards us, into L2
    if (p >= end) return;
    const u64 page = (static_cast<u64>(table[p]) * kv_heads + kv_head) * (D * 16);
    for (int i = lane; i < D / 2; i += 32) {  // lines of 128 bytes, of keys and values
      const bf16* line_at = (i < D / 4 ? keys + page : values + page - D * 16) + i * 64;
      asm volatile("prefetch.global.L2 [%0];" ::"l"(line_at));
    }
  };
  bring(begin + warp);
  bring(begin + warp + warps);
  after_previous();
  if constexpr (rotates) {
    rotate_group<D>(qkv + static_cast<u64>(row) * (heads + 2 * kv_heads) * D, rotation, row, heads, kv_heads, kv_head,
                    begin < end && end * 16 >= length, turned, keys, values);
    __syncthreads();
  }

  // Queries of heads `line` and `line + 8`; rows beyond the group are zero.
  u32 query[steps][4];
  const bf16* q = qkv + static_cast<u64>(row) * (heads + 2 * kv_heads) * D + static_cast<u64>(kv_head) * group * D;
  for (int s = 0; s < steps; ++s)
    for (int k = 0; k < 4; ++k) {
      const int head = line + 8 * (k & 1), at = quad * (D / 4) + 4 * s + 2 * (k >> 1);
      const bf16* from = q + head * D + at;
      if constexpr (rotates) from = turned[head] + at;
      query[s][k] = head < group ? *reinterpret_cast<const u32*>(from) : 0;
    }

  float sums[tiles][4];
  for (int t = 0; t < tiles; ++t)
    for (int k = 0; k < 4; ++k) sums[t][k] = 0;
  float peak[2] = {-INFINITY_F, -INFINITY_F}, total[2] = {0, 0};  // of heads `line` and `line + 8`
  const float scale2 = scale * 1.4426950408889634f;                // exponentials to base 2
  const int key_of_line = 4 * (line >> 1) + (line & 1);

  for (int p = begin + warp; p < end; p += warps) {
    const u64 page = (static_cast<u64>(table[p]) * kv_heads + kv_head) * (D * 16);
    // All loads of the page are under way before the first is needed.
    u32 words[2][D / 8];
    uint2 value[tiles];
    for (int t = 0; t < 2; ++t) {
      const bf16* key = keys + page + (key_of_line + 2 * t) * D + quad * (D / 4);
      for (int k = 0; k < D / 32; ++k) {
        const uint4 four = *reinterpret_cast<const uint4*>(key + 8 * k);
        words[t][4 * k] = four.x, words[t][4 * k + 1] = four.y;
        words[t][4 * k + 2] = four.z, words[t][4 * k + 3] = four.w;
      }
    }
    for (int t = 0; t < tiles; ++t)
      value[t] = *reinterpret_cast<const uint2*>(values + page + (8 * t + line) * 16 + 4 * quad);
    bring(p + 2 * warps);
    float score[2][4] = {};
    for (int t = 0; t < 2; ++t)
      for (int s = 0; s < steps; ++s) matrix_step(score[t], query[s], words[t][2 * s], words[t][2 * s + 1]);
    float largest[2] = {peak[0], peak[1]};
    for (int t = 0; t < 2; ++t)
      for (int k = 0; k < 4; ++k) {
        const bool seen = p * 16 + 4 * quad + 2 * t + (k & 1) < length;
        score[t][k] = seen ? score[t][k] * scale2 : -INFINITY_F;
        largest[k >> 1] = fmaxf(largest[k >> 1], score[t][k]);
      }
    float fade[2];
    for (int h = 0; h < 2; ++h) {
      largest[h] = fmaxf(largest[h], __shfl_xor_sync(0xffffffffu, largest[h], 1));
      largest[h] = fmaxf(largest[h], __shfl_xor_sync(0xffffffffu, largest[h], 2));
      fade[h] = exp2f(peak[h] - largest[h]);  // a page has at least one key that is seen: largest is finite
      peak[h] = largest[h];
      total[h] *= fade[h];
    }
    u32 chance[4];
    for (int t = 0; t < 2; ++t) {
      float e[4];
      for (int k = 0; k < 4; ++k) {
        e[k] = exp2f(score[t][k] - peak[k >> 1]);
        total[k >> 1] += e[k];
      }
      chance[2 * t] = pair_of(e[0], e[1]);
      chance[2 * t + 1] = pair_of(e[2], e[3]);
    }
    for (int t = 0; t < tiles; ++t) {
      sums[t][0] *= fade[0], sums[t][1] *= fade[0], sums[t][2] *= fade[1], sums[t][3] *= fade[1];
      matrix_step(sums[t], chance, value[t].x, value[t].y);
    }
  }

  for (int h = 0; h < 2; ++h) {
    total[h] += __shfl_xor_sync(0xffffffffu, total[h], 1);
    total[h] += __shfl_xor_sync(0xffffffffu, total[h], 2);
    if (quad == 0) peaks[warp][line + 8 * h] = peak[h], totals[warp][line + 8 * h] = total[h];
  }
  for (int t = 0; t < tiles; ++t)
    for (int k = 0; k < 4; ++k) joined[warp][line + 8 * (k >> 1)][8 * t + 2 * quad + (k & 1)] = sums[t][k];
  __syncthreads();
  for (int i = threadIdx.x; i < group * D; i += blockDim.x) {
    const int head = i / D, element = i % D;
    float largest = -INFINITY_F, sum = 0, value = 0;
    for (int w = 0; w < warps; ++w) largest = fmaxf(largest, peaks[w][head]);
    for (int w = 0; w < warps; ++w) {
      const float factor = largest == -INFINITY_F ? 0 : exp2f(peaks[w][head] - largest);
      sum += factor * totals[w][head];
      value += factor * joined[w][head][element];
    }
    const u64 place = static_cast<u64>(row) * heads + kv_head * group + head;
    if (parts == 1) {
      out[place * D + element] = from_float<bf16>(sum > 0 ? value / sum : 0);
    } else {
      part_out[(place * parts + part) * D + element] = value;
      if (element == 0) part_scale[(place * parts + part) * 2] = largest, part_scale[(place * parts + part) * 2 + 1] = sum;
    }
  }
}
#define PAGED_ATTENTION(D)                                                                                            \
  extern "C" __global__ void __launch_bounds__(128) paged_attention_##D(                                              \
      const bf16* qkv, bf16* keys, bf16* values, const int* tables, const int* table_of_row, const int* lengths,      \
      const int* table_stride, bf16* out, float* part_out, float* part_scale, int heads, int kv_heads, float scale) { \
    paged_attention<D, false>(qkv, {}, keys, values, tables, table_of_row, lengths, table_stride, out, part_out,      \
                         part_scale, heads, kv_heads, scale);                                                         \
  }                                                                                                                   \
  extern "C" __global__ void __launch_bounds__(128) paged_attention_rotating_##D(                                     \
      const bf16* qkv, const bf16* bias, const int* positions, const int* slots, const float* cosine,                 \
      const float* sine, bf16* keys, bf16* values, const int* tables, const int* table_of_row, const int* lengths,    \
      const int* table_stride, bf16* out, float* part_out, float* part_scale, int heads, int kv_heads, float scale) { \
    paged_attention<D, true>(qkv, {bias, positions, slots, cosine, sine}, keys, values, tables, table_of_row, lengths,\
                         table_stride, out, part_out, part_scale, heads, kv_heads, scale);                            \
  }
PAGED_ATTENTION(32)
PAGED_ATTENTION(64)
PAGED_ATTENTION(128)

// grid: (heads, rows), head_dim threads (whole warps). At most 32 parts: a lane weighs one.
extern "C" __global__ void join_attention(const float* part_out, const float* part_scale, bf16* out, int parts) {
  constexpr int ahead = 16;
  const u64 place = static_cast<u64>(blockIdx.y) * gridDim.x + blockIdx.x;
  const int width = blockDim.x, lane = threadIdx.x & 31;
  after_previous();
  float2 mine = make_float2(-INFINITY_F, 0);  // the part's largest score, and its sum
  if (lane < parts) mine = *reinterpret_cast<const float2*>(part_scale + (place * parts + lane) * 2);
  float factor = 0, sum = 0, value = 0;
  for (int begin = 0; begin < parts; begin += ahead) {
    float found[ahead];
#pragma unroll
    for (int u = 0; u < ahead; ++u)
      found[u] = begin + u < parts ? part_out[(place * parts + begin + u) * width + threadIdx.x] : 0;
    if (begin == 0) {
      float largest = mine.x;
      for (int offset = 16; offset > 0; offset >>= 1)
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, offset));
      factor = largest == -INFINITY_F ? 0 : exp2f(mine.x - largest);
      sum = warp_sum(factor * mine.y);
    }
#pragma unroll
    for (int u = 0; u < ahead; ++u) value += __shfl_sync(0xffffffffu, factor, begin + u) * found[u];
  }
  out[place * width + threadIdx.x] = from_float<bf16>(sum > 0 ? value / sum : 0);
}

// The slow path for every type and head size: one warp for one head of one row, key after key. grid: (heads, rows)
template <class T>
__device__ void paged_attention_plain(const T* qkv, const T* keys, const T* values, const int* tables,
                                      const int* table_of_row, const int* lengths, const int* table_stride, T* out,
                                      int kv_heads, int head_dim, float scale) {
  extern __shared__ float sums[];  // (head_dim); a lane touches its own elements only
  after_previous();
  const int head = blockIdx.x, heads = gridDim.x, row = blockIdx.y, kv_head = head / (heads / kv_heads);
  const int* table = tables + static_cast<u64>(table_of_row[row]) * *table_stride;
  const T* q = qkv + (static_cast<u64>(row) * (heads + 2 * kv_heads) + head) * head_dim;
  for (int i = threadIdx.x; i < head_dim; i += 32) sums[i] = 0;
  float peak = -INFINITY_F, total = 0;
  for (int position = 0; position < lengths[row]; ++position) {
    const u64 page = (static_cast<u64>(table[position >> 4]) * kv_heads + kv_head) * head_dim * 16;
    const int place = position & 15;
    float score = 0;
    for (int i = threadIdx.x; i < head_dim; i += 32)
      score += to_float(q[i]) * to_float(keys[page + place * head_dim + i]);
    score = warp_sum(score) * scale;
    const float largest = fmaxf(peak, score), fade = __expf(peak - largest), e = __expf(score - largest);
    peak = largest;
    total = total * fade + e;
    for (int i = threadIdx.x; i < head_dim; i += 32)
      sums[i] = sums[i] * fade + e * to_float(values[page + i * 16 + place]);
  }
  for (int i = threadIdx.x; i < head_dim; i += 32)
    out[(static_cast<u64>(row) * heads + head) * head_dim + i] = from_float<T>(total > 0 ? sums[i] / total : 0);
}
FOR_BOTH_TYPES(paged_attention_plain,
               (const bf16* qkv, const bf16* keys, const bf16* values, const int* tables, const int* table_of_row,
                const int* lengths, const int* table_stride, bf16* out, int kv_heads, int head_dim, float scale),
               (const float* qkv, const float* keys, const float* values, const int* tables, const int* table_of_row,
                const int* lengths, const int* table_stride, float* out, int kv_heads, int head_dim, float scale),
               (qkv, keys, values, tables, table_of_row, lengths, table_stride, out, kv_heads, head_dim, scale))
