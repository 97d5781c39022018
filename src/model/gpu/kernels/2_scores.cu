// From logits (float, or bf16 where asked for; one row of `width`, of which `usable` count) to scores, their gradient,
// and samples.

// Of a set of logits z: the largest, sum of exp(z - largest), sum of exp(z - largest) * z.
struct Mass {
  float largest, sum, weighted;
};
__device__ inline Mass join(Mass a, Mass b) {
  const float largest = fmaxf(a.largest, b.largest);
  if (largest == -INFINITY_F) return a;
  const float fa = __expf(a.largest - largest), fb = __expf(b.largest - largest);
  return {largest, a.sum * fa + b.sum * fb, a.weighted * fa + b.weighted * fb};
}
__device__ inline Mass warp_join(Mass mass) {
  for (int offset = 16; offset > 0; offset >>= 1) {
    Mass other;
    other.largest = __shfl_xor_sync(0xffffffffu, mass.largest, offset);
    other.sum = __shfl_xor_sync(0xffffffffu, mass.sum, offset);
    other.weighted = __shfl_xor_sync(0xffffffffu, mass.weighted, offset);
    // Both lanes join in the same order, so that they get the same bits.
    mass = (threadIdx.x & offset) == 0 ? join(mass, other) : join(other, mass);
  }
  return mass;
}
__device__ inline void take(Mass& mass, float z) {
  if (z > mass.largest) {
    const float factor = __expf(mass.largest - z);
    mass.sum *= factor;
    mass.weighted *= factor;
    mass.largest = z;
  }
  const float e = __expf(z - mass.largest);
  mass.sum += e;
  mass.weighted += e * z;
}

template <int size>
__device__ inline void take(Mass& mass, const float (&z)[size]) {
  float largest = z[0];
  for (int k = 1; k < size; ++k) largest = fmaxf(largest, z[k]);
  if (largest > mass.largest) {
    const float factor = __expf(mass.largest - largest);
    mass.sum *= factor;
    mass.weighted *= factor;
    mass.largest = largest;
  }
  for (int k = 0; k < size; ++k) {
    const float e = __expf(z[k] - mass.largest);
    mass.sum += e;
    mass.weighted += e * z[k];
  }
}

// Tokens that may not be chosen get a logit that no softmax sees: finite, because infinity minus infinity is no number.
// masks: rows of `words` words, a bit for each token; mask_of_row: which of them, -1: any token. grid: (parts of a row,
// rows)
template <class L>
__device__ void mask_logits(L* logits, const u32* masks, const int* mask_of_row, int width, int usable, int words) {
  after_previous();
  const int mask = mask_of_row[blockIdx.y];
  if (mask < 0) return;
  const u32* allowed = masks + static_cast<u64>(mask) * words;
  L* row = logits + static_cast<u64>(blockIdx.y) * width;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < usable; i += gridDim.x * blockDim.x)
    if ((allowed[i >> 5] >> (i & 31) & 1u) == 0) row[i] = from_float<L>(-1e30f);
}
FOR_BOTH_TYPES(mask_logits,
               (bf16* logits, const u32* masks, const int* mask_of_row, int width, int usable, int words),
               (float* logits, const u32* masks, const int* mask_of_row, int width, int usable, int words),
               (logits, masks, mask_of_row, width, usable, words))

template <class L>
__device__ void score_tokens(const L* logits, const int* tokens, float* log_prob, float* entropy, float* log_sum,
                             int width, int usable, float inverse_temperature) {
  __shared__ Mass parts[32];
  constexpr int size = Pack<L>::size, ahead = 4;  // loads of 16 bytes that are under way together
  const L* row = logits + static_cast<u64>(blockIdx.x) * width;
  Mass mass = {-INFINITY_F, 0, 0};
  const int whole = width % size == 0 ? usable / size : 0, step = blockDim.x;
  for (int first = threadIdx.x; first < whole; first += ahead * step) {
    uint4 raw[ahead];
#pragma unroll
    for (int u = 0; u < ahead; ++u)
      if (first + u * step < whole) raw[u] = *reinterpret_cast<const uint4*>(row + (first + u * step) * size);
#pragma unroll
    for (int u = 0; u < ahead; ++u) {
      if (first + u * step >= whole) break;
      float z[size];
      Pack<L>::unpack(raw[u], z);
      for (int k = 0; k < size; ++k) z[k] *= inverse_temperature;
      take<size>(mass, z);
    }
  }
  for (int i = whole * size + threadIdx.x; i < usable; i += step) take(mass, to_float(row[i]) * inverse_temperature);
  mass = warp_join(mass);
  if ((threadIdx.x & 31) == 0) parts[threadIdx.x >> 5] = mass;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int i = 1; i < static_cast<int>(blockDim.x >> 5); ++i) mass = join(mass, parts[i]);
  const float log_total = mass.largest + logf(mass.sum);
  log_sum[blockIdx.x] = log_total;
  log_prob[blockIdx.x] = to_float(row[tokens[blockIdx.x]]) * inverse_temperature - log_total;
  entropy[blockIdx.x] = log_total - mass.weighted / mass.sum;
}
FOR_BOTH_TYPES(score_tokens,
               (const bf16* logits, const int* tokens, float* log_prob, float* entropy, float* log_sum, int width,
                int usable, float inverse_temperature),
               (const float* logits, const int* tokens, float* log_prob, float* entropy, float* log_sum, int width,
                int usable, float inverse_temperature),
               (logits, tokens, log_prob, entropy, log_sum, width, usable, inverse_temperature))

// Eight neighbours, from memory to float and back; `whole`: in loads of 16 bytes.
template <class T>
__device__ inline void load_eight(const T* from, bool whole, int count, float (&values)[8]) {
  if (!whole) {
    for (int k = 0; k < 8; ++k) values[k] = k < count ? to_float(from[k]) : 0;
    return;
  }
  constexpr int size = Pack<T>::size;
  for (int p = 0; p < 8 / size; ++p) {
    float pack[size];
    Pack<T>::load(from + p * size, pack);
    for (int k = 0; k < size; ++k) values[p * size + k] = pack[k];
  }
}
template <class T>
__device__ inline void store_eight(T* to, bool whole, int count, const float (&values)[8]) {
  if (!whole) {
    for (int k = 0; k < count; ++k) to[k] = from_float<T>(values[k]);
    return;
  }
  constexpr int size = Pack<T>::size;
  for (int p = 0; p < 8 / size; ++p) {
    float pack[size];
    for (int k = 0; k < size; ++k) pack[k] = values[p * size + k];
    Pack<T>::store(to + p * size, pack);
  }
}

// d loss / d logit = T^-1 (d_log_prob (1[token] - p) - d_entropy p (log p + entropy)). A thread does eight; out may be
// the logits. grid: (parts of a row, rows)
template <class T, class L>
__device__ void score_gradient_of(const L* logits, const int* tokens, const float* log_sum, const float* entropy,
                                  const float* d_log_prob, const float* d_entropy, T* out, int width, int usable,
                                  float inverse_temperature) {
  const int i = (blockIdx.x * blockDim.x + threadIdx.x) * 8;
  if (i >= width) return;
  const u64 row = blockIdx.y, at = row * width + i;
  const bool whole = width % 8 == 0;
  const int count = min(8, width - i);
  const int token = tokens[row];
  const float log_total = log_sum[row], d = d_log_prob[row];
  const float de = d_entropy != nullptr ? d_entropy[row] : 0, mean = d_entropy != nullptr ? entropy[row] : 0;
  float values[8];
  load_eight(logits + at, whole, count, values);
  for (int k = 0; k < 8; ++k) {
    const float log_p = values[k] * inverse_temperature - log_total, p = __expf(log_p);
    const float gradient = (i + k == token ? d : 0) - d * p - de * p * (log_p + mean);
    values[k] = i + k < usable ? gradient * inverse_temperature : 0;
  }
  store_eight(out + at, whole, count, values);
}
template <class T>
__device__ void score_gradient(const float* logits, const int* tokens, const float* log_sum, const float* entropy,
                               const float* d_log_prob, const float* d_entropy, T* out, int width, int usable,
                               float inverse_temperature) {
  score_gradient_of<T, float>(logits, tokens, log_sum, entropy, d_log_prob, d_entropy, out, width, usable,
                              inverse_temperature);
}
FOR_BOTH_TYPES(score_gradient,
               (const float* logits, const int* tokens, const float* log_sum, const float* entropy,
                const float* d_log_prob, const float* d_entropy, bf16* out, int width, int usable,
                float inverse_temperature),
               (const float* logits, const int* tokens, const float* log_sum, const float* entropy,
                const float* d_log_prob, const float* d_entropy, float* out, int width, int usable,
                float inverse_temperature),
               (logits, tokens, log_sum, entropy, d_log_prob, d_entropy, out, width, usable, inverse_temperature))
extern "C" __global__ void score_gradient_narrow(const bf16* logits, const int* tokens, const float* log_sum,
                                                 const float* entropy, const float* d_log_prob, const float* d_entropy,
                                                 bf16* out, int width, int usable, float inverse_temperature) {
  score_gradient_of<bf16, bf16>(logits, tokens, log_sum, entropy, d_log_prob, d_entropy, out, width, usable,
                                inverse_temperature);
}

// How a row is sampled: the token with the largest logit / temperature + Gumbel noise. The noise of a token depends on
// the key (made from seed and index by the host) and the token alone, so not on the batch.
struct SampleRule {
  float inverse_temperature;
  u32 noisy;  // 0: the likeliest token
  u32 key_low, key_high;
};
__device__ inline float gumbel(u32 key_low, u32 key_high, u32 token) {
  u32 h = token * 0x9e3779b9u + key_low;
  h ^= h >> 16;
  h *= 0x21f0aaadu;
  h ^= (h >> 15) ^ key_high;
  h *= 0x735a2d97u;
  h ^= h >> 15;
  // Large noise comes from small numbers, where floats are finest; below one, or the noise would be infinite.
  const float uniform = fminf((static_cast<float>(h) + 0.5f) * (1.0f / 4294967296.0f), 1.0f - 1.0f / 16777216.0f);
  return -__logf(-log1pf(-uniform));
}

struct Candidate {
  float largest, sum;  // of logits / temperature
  float best, logit;   // with noise, and without
  int token;
};
__device__ inline Candidate join(Candidate a, Candidate b) {
  Candidate joined = a;
  if (b.best > a.best || (b.best == a.best && b.token < a.token)) joined = b;
  joined.largest = fmaxf(a.largest, b.largest);
  joined.sum = 0;
  if (a.sum > 0) joined.sum += a.sum * __expf(a.largest - joined.largest);
  if (b.sum > 0) joined.sum += b.sum * __expf(b.largest - joined.largest);
  return joined;
}
__device__ inline Candidate warp_join(Candidate mine) {
  for (int offset = 16; offset > 0; offset >>= 1) {
    Candidate other;
    other.largest = __shfl_xor_sync(0xffffffffu, mine.largest, offset);
    other.sum = __shfl_xor_sync(0xffffffffu, mine.sum, offset);
    other.best = __shfl_xor_sync(0xffffffffu, mine.best, offset);
    other.logit = __shfl_xor_sync(0xffffffffu, mine.logit, offset);
    other.token = __shfl_xor_sync(0xffffffffu, mine.token, offset);
    mine = (threadIdx.x & offset) == 0 ? join(mine, other) : join(other, mine);
  }
  return mine;
}

// grid: (parts of the vocabulary, rows), whole warps.
extern "C" __global__ void sample_parts(const float* logits, const SampleRule* rules, Candidate* candidates, int width,
                                        int usable) {
  __shared__ Candidate found[32];
  after_previous();
  const float* row = logits + static_cast<u64>(blockIdx.y) * width;
  const SampleRule rule = rules[blockIdx.y];
  const int each = (usable + gridDim.x - 1) / gridDim.x;
  const int begin = min(static_cast<int>(blockIdx.x) * each, usable), end = min(begin + each, usable);
  Candidate mine = {-INFINITY_F, 0, -INFINITY_F, 0, 0x7fffffff};
  for (int i = begin + threadIdx.x; i < end; i += blockDim.x) {
    const float z = row[i] * rule.inverse_temperature;
    if (z > mine.largest) {
      mine.sum *= __expf(mine.largest - z);
      mine.largest = z;
    }
    mine.sum += __expf(z - mine.largest);
    const float noisy = rule.noisy ? z + gumbel(rule.key_low, rule.key_high, i) : z;
    if (noisy > mine.best) mine.best = noisy, mine.logit = z, mine.token = i;
  }
  mine = warp_join(mine);
  if ((threadIdx.x & 31) == 0) found[threadIdx.x >> 5] = mine;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int i = 1; i < static_cast<int>(blockDim.x >> 5); ++i) mine = join(mine, found[i]);
  candidates[static_cast<u64>(blockIdx.y) * gridDim.x + blockIdx.x] = mine;
}

// One warp for each row.
extern "C" __global__ void sample_join(const Candidate* candidates, int parts, int* tokens, float* log_probs) {
  after_previous();
  Candidate mine = {-INFINITY_F, 0, -INFINITY_F, 0, 0x7fffffff};
  for (int i = threadIdx.x; i < parts; i += 32)
    mine = join(mine, candidates[static_cast<u64>(blockIdx.x) * parts + i]);
  mine = warp_join(mine);
  if (threadIdx.x != 0) return;
  tokens[blockIdx.x] = mine.token;
  log_probs[blockIdx.x] = mine.logit - mine.largest - logf(mine.sum);
}
