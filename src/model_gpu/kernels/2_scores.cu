// From logits (float, one row of `width`, of which `usable` count) to scores, their gradient, and samples.

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

extern "C" __global__ void score_tokens(const float* logits, const int* tokens, float* log_prob, float* entropy,
                                        float* log_sum, int width, int usable, float inverse_temperature) {
  __shared__ Mass parts[32];
  const float* row = logits + static_cast<u64>(blockIdx.x) * width;
  Mass mass = {-INFINITY_F, 0, 0};
  for (int i = threadIdx.x; i < usable; i += blockDim.x) take(mass, row[i] * inverse_temperature);
  mass = warp_join(mass);
  if ((threadIdx.x & 31) == 0) parts[threadIdx.x >> 5] = mass;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int i = 1; i < static_cast<int>(blockDim.x >> 5); ++i) mass = join(mass, parts[i]);
  const float log_total = mass.largest + logf(mass.sum);
  log_sum[blockIdx.x] = log_total;
  log_prob[blockIdx.x] = row[tokens[blockIdx.x]] * inverse_temperature - log_total;
  entropy[blockIdx.x] = log_total - mass.weighted / mass.sum;
}

// d loss / d logit = T^-1 (d_log_prob (1[token] - p) - d_entropy p (log p + entropy)). grid: (parts of a row, rows)
template <class T>
__device__ void score_gradient(const float* logits, const int* tokens, const float* log_sum, const float* entropy,
                               const float* d_log_prob, const float* d_entropy, T* out, int width, int usable,
                               float inverse_temperature) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= width) return;
  const u64 row = blockIdx.y, at = row * width + i;
  float gradient = 0;
  if (i < usable) {
    const float log_p = logits[at] * inverse_temperature - log_sum[row], p = __expf(log_p), d = d_log_prob[row];
    gradient = (i == tokens[row] ? d : 0) - d * p;
    if (d_entropy != nullptr) gradient -= d_entropy[row] * p * (log_p + entropy[row]);
  }
  out[at] = from_float<T>(gradient * inverse_temperature);
}
FOR_BOTH_TYPES(score_gradient,
               (const float* logits, const int* tokens, const float* log_sum, const float* entropy,
                const float* d_log_prob, const float* d_entropy, bf16* out, int width, int usable,
                float inverse_temperature),
               (const float* logits, const int* tokens, const float* log_sum, const float* entropy,
                const float* d_log_prob, const float* d_entropy, float* out, int width, int usable,
                float inverse_temperature),
               (logits, tokens, log_sum, entropy, d_log_prob, d_entropy, out, width, usable, inverse_temperature))

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
  const float uniform = (static_cast<float>(h >> 8) + 0.5f) * (1.0f / 16777216.0f);
  return -__logf(-__logf(uniform));
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
  Candidate mine = {-INFINITY_F, 0, -INFINITY_F, 0, 0x7fffffff};
  for (int i = threadIdx.x; i < parts; i += 32)
    mine = join(mine, candidates[static_cast<u64>(blockIdx.x) * parts + i]);
  mine = warp_join(mine);
  if (threadIdx.x != 0) return;
  tokens[blockIdx.x] = mine.token;
  log_probs[blockIdx.x] = mine.logit - mine.largest - logf(mine.sum);
}
