// Row by row: embedding, RMSNorm, rotation, SwiGLU. Widths are multiples of 8.

template <class T>
__device__ void embed(const int* ids, const T* table, T* out, int width) {
  after_previous();
  const u64 row = blockIdx.x;
  const u64 from = static_cast<u64>(ids[row]) * width;
  for (int i = threadIdx.x; i < width; i += blockDim.x) out[row * width + i] = table[from + i];
}
FOR_BOTH_TYPES(embed, (const int* ids, const bf16* table, bf16* out, int width),
               (const int* ids, const float* table, float* out, int width), (ids, table, out, width))

// For each distinct token, `rows` lists where it stands, in order, so the sum has one order. grid: (tokens, parts of
// the width)
template <class T>
__device__ void embed_backward(const int* ids, const int* starts, const int* rows, const T* dx, float* dtable,
                               int width) {
  const u64 to = static_cast<u64>(ids[blockIdx.x]) * width;
  const int begin = starts[blockIdx.x], end = starts[blockIdx.x + 1];
  const int i = blockIdx.y * blockDim.x + threadIdx.x;
  if (i >= width) return;
  float sum = 0;
#pragma unroll 8
  for (int k = begin; k < end; ++k) sum += to_float(dx[static_cast<u64>(rows[k]) * width + i]);
  dtable[to + i] += sum;
}
FOR_BOTH_TYPES(embed_backward,
               (const int* ids, const int* starts, const int* rows, const bf16* dx, float* dtable, int width),
               (const int* ids, const int* starts, const int* rows, const float* dx, float* dtable, int width),
               (ids, starts, rows, dx, dtable, width))

// out = x + update (update may be null, then nothing is written there); y = norm(out) * weight. As in Hugging Face,
// the normalised value is rounded before it meets the weight.
template <class T>
__device__ void rms_norm(const T* x, const T* update, T* out, const T* weight, T* y, float* inverse_rms, int width,
                         float epsilon) {
  __shared__ float scratch[32];
  constexpr int size = Pack<T>::size;
  const u64 base = static_cast<u64>(blockIdx.x) * width;
  after_previous();
  if (width <= static_cast<int>(blockDim.x) * size) {  // one pack for each thread, kept
    const int i = threadIdx.x * size;
    const bool mine = i < width;
    float values[size] = {}, more[size], weights[size], squares = 0;
    if (mine) {
      Pack<T>::load(x + base + i, values);
      if (update != nullptr) Pack<T>::load(update + base + i, more);
      Pack<T>::load(weight + i, weights);
      if (update != nullptr) {
        for (int k = 0; k < size; ++k) values[k] = to_float(from_float<T>(values[k] + more[k]));
        Pack<T>::store(out + base + i, values);
      }
    }
    for (int k = 0; k < size; ++k) squares += values[k] * values[k];
    const float inverse = rsqrtf(block_sum(squares, scratch) / width + epsilon);
    if (threadIdx.x == 0 && inverse_rms != nullptr) inverse_rms[blockIdx.x] = inverse;
    if (!mine) return;
    for (int k = 0; k < size; ++k) values[k] = to_float(from_float<T>(values[k] * inverse)) * weights[k];
    Pack<T>::store(y + base + i, values);
    return;
  }
  float squares = 0;
  for (int i = threadIdx.x * size; i < width; i += blockDim.x * size) {
    float values[size];
    Pack<T>::load(x + base + i, values);
    if (update != nullptr) {
      float more[size];
      Pack<T>::load(update + base + i, more);
      for (int k = 0; k < size; ++k) values[k] = to_float(from_float<T>(values[k] + more[k]));
      Pack<T>::store(out + base + i, values);
    }
    for (int k = 0; k < size; ++k) squares += values[k] * values[k];
  }
  const float inverse = rsqrtf(block_sum(squares, scratch) / width + epsilon);
  if (threadIdx.x == 0 && inverse_rms != nullptr) inverse_rms[blockIdx.x] = inverse;
  const T* normed = update != nullptr ? out : x;
  for (int i = threadIdx.x * size; i < width; i += blockDim.x * size) {
    float values[size], weights[size];
    Pack<T>::load(normed + base + i, values);
    Pack<T>::load(weight + i, weights);
    for (int k = 0; k < size; ++k) values[k] = to_float(from_float<T>(values[k] * inverse)) * weights[k];
    Pack<T>::store(y + base + i, values);
  }
}
FOR_BOTH_TYPES(rms_norm,
               (const bf16* x, const bf16* update, bf16* out, const bf16* weight, bf16* y, float* inverse_rms,
                int width, float epsilon),
               (const float* x, const float* update, float* out, const float* weight, float* y, float* inverse_rms,
                int width, float epsilon),
               (x, update, out, weight, y, inverse_rms, width, epsilon))

// dx += gradient; partial (gridDim.x, width), unless null, gets each block's share of the weight's gradient.
template <class T>
__device__ void rms_norm_backward(const T* dy, const T* x, const T* weight, const float* inverse_rms, T* dx,
                                  float* partial, int rows, int width) {
  __shared__ float scratch[32];
  extern __shared__ float dweight[];  // (width); a thread touches its own columns only
  constexpr int size = Pack<T>::size;
  if (width <= static_cast<int>(blockDim.x) * size) {  // one pack for each thread: everything stays in registers
    const int i = threadIdx.x * size;
    const bool mine = i < width;
    float weights[size] = {}, shares[size] = {};
    if (mine) Pack<T>::load(weight + i, weights);
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
      const u64 at = static_cast<u64>(row) * width + i;
      const float inverse = inverse_rms[row];
      float gradient[size] = {}, values[size] = {}, sums[size], dot = 0;
      if (mine) {
        Pack<T>::load(dy + at, gradient);
        Pack<T>::load(x + at, values);
        Pack<T>::load(dx + at, sums);
      }
      for (int k = 0; k < size; ++k) {
        shares[k] += gradient[k] * values[k] * inverse;
        gradient[k] *= weights[k];
        dot += gradient[k] * values[k];
      }
      const float common = block_sum(dot, scratch) * inverse * inverse * inverse / width;
      if (!mine) continue;
      for (int k = 0; k < size; ++k) sums[k] += gradient[k] * inverse - values[k] * common;
      Pack<T>::store(dx + at, sums);
    }
    if (partial == nullptr || !mine) return;
    for (int k = 0; k < size; ++k) partial[static_cast<u64>(blockIdx.x) * width + i + k] = shares[k];
    return;
  }
  for (int i = threadIdx.x * size; i < width; i += blockDim.x * size)
    for (int k = 0; k < size; ++k) dweight[i + k] = 0;
  for (int row = blockIdx.x; row < rows; row += gridDim.x) {
    const u64 base = static_cast<u64>(row) * width;
    const float inverse = inverse_rms[row];
    float dot = 0;
    for (int i = threadIdx.x * size; i < width; i += blockDim.x * size) {
      float gradient[size], values[size], weights[size];
      Pack<T>::load(dy + base + i, gradient);
      Pack<T>::load(x + base + i, values);
      Pack<T>::load(weight + i, weights);
      for (int k = 0; k < size; ++k) {
        dot += gradient[k] * weights[k] * values[k];
        dweight[i + k] += gradient[k] * values[k] * inverse;
      }
    }
    const float common = block_sum(dot, scratch) * inverse * inverse * inverse / width;
    for (int i = threadIdx.x * size; i < width; i += blockDim.x * size) {
      float gradient[size], values[size], weights[size], sums[size];
      Pack<T>::load(dy + base + i, gradient);
      Pack<T>::load(x + base + i, values);
      Pack<T>::load(weight + i, weights);
      Pack<T>::load(dx + base + i, sums);
      for (int k = 0; k < size; ++k) sums[k] += gradient[k] * weights[k] * inverse - values[k] * common;
      Pack<T>::store(dx + base + i, sums);
    }
  }
  if (partial == nullptr) return;
  for (int i = threadIdx.x * size; i < width; i += blockDim.x * size)
    for (int k = 0; k < size; ++k) partial[static_cast<u64>(blockIdx.x) * width + i + k] = dweight[i + k];
}
FOR_BOTH_TYPES(rms_norm_backward,
               (const bf16* dy, const bf16* x, const bf16* weight, const float* inverse_rms, bf16* dx, float* partial,
                int rows, int width),
               (const float* dy, const float* x, const float* weight, const float* inverse_rms, float* dx,
                float* partial, int rows, int width),
               (dy, x, weight, inverse_rms, dx, partial, rows, width))

// qkv (rows, heads + 2 kv_heads, head_dim), in place: bias added (unless null), q and k rotated, `direction` -1 back.
template <class T>
__device__ void rotate_qkv(T* qkv, const T* bias, const int* positions, const float* cosine, const float* sine,
                           int heads, int kv_heads, int head_dim, float direction) {
  const int half = head_dim / 2, rotated = (heads + kv_heads) * half, all = (heads + 2 * kv_heads) * head_dim;
  T* row = qkv + static_cast<u64>(blockIdx.x) * all;
  const u64 table = static_cast<u64>(positions[blockIdx.x]) * half;
  constexpr int size = Pack<T>::size;
  if (half % size == 0) {
    for (int i = threadIdx.x * size; i < rotated; i += blockDim.x * size) {
      const int pair = i % half, low = i / half * head_dim + pair, high = low + half;
      float a[size], b[size], more[size];
      Pack<T>::load(row + low, a);
      Pack<T>::load(row + high, b);
      if (bias != nullptr) {
        Pack<T>::load(bias + low, more);
        for (int k = 0; k < size; ++k) a[k] += more[k];
        Pack<T>::load(bias + high, more);
        for (int k = 0; k < size; ++k) b[k] += more[k];
      }
      for (int p = 0; p < size; p += 4) {
        float c[4], s[4];
        Pack<float>::load(cosine + table + pair + p, c);
        Pack<float>::load(sine + table + pair + p, s);
        for (int k = 0; k < 4; ++k) {
          const float turned = a[p + k] * c[k] - b[p + k] * direction * s[k];
          b[p + k] = b[p + k] * c[k] + a[p + k] * direction * s[k];
          a[p + k] = turned;
        }
      }
      Pack<T>::store(row + low, a);
      Pack<T>::store(row + high, b);
    }
    if (bias == nullptr) return;
    for (int i = 2 * rotated + threadIdx.x * size; i < all; i += blockDim.x * size) {
      float values[size], more[size];
      Pack<T>::load(row + i, values);
      Pack<T>::load(bias + i, more);
      for (int k = 0; k < size; ++k) values[k] += more[k];
      Pack<T>::store(row + i, values);
    }
    return;
  }
  for (int i = threadIdx.x; i < rotated; i += blockDim.x) {
    const int pair = i % half, low = i / half * head_dim + pair, high = low + half;
    float a = to_float(row[low]), b = to_float(row[high]);
    if (bias != nullptr) a += to_float(bias[low]), b += to_float(bias[high]);
    const float c = cosine[table + pair], s = direction * sine[table + pair];
    row[low] = from_float<T>(a * c - b * s);
    row[high] = from_float<T>(b * c + a * s);
  }
  if (bias == nullptr) return;
  for (int i = 2 * rotated + threadIdx.x; i < all; i += blockDim.x)
    row[i] = from_float<T>(to_float(row[i]) + to_float(bias[i]));
}
FOR_BOTH_TYPES(rotate_qkv,
               (bf16* qkv, const bf16* bias, const int* positions, const float* cosine, const float* sine, int heads,
                int kv_heads, int head_dim, float direction),
               (float* qkv, const float* bias, const int* positions, const float* cosine, const float* sine, int heads,
                int kv_heads, int head_dim, float direction),
               (qkv, bias, positions, cosine, sine, heads, kv_heads, head_dim, direction))

// The same, and keys and values into the cache. A page holds 16 tokens: keys (kv_heads, 16, head_dim), values
// (kv_heads, head_dim, 16), so that attention reads both as its matrix instruction wants them. slots: page * 16 + place,
// or -1 for a row that is none.
template <class T>
__device__ void rotate_into_cache(T* qkv, const T* bias, const int* positions, const int* slots, const float* cosine,
                                  const float* sine, T* keys, T* values, int heads, int kv_heads, int head_dim) {
  after_previous();
  const int slot = slots[blockIdx.x];
  if (slot < 0) return;
  const int half = head_dim / 2, rotated = (heads + kv_heads) * half, all = (heads + 2 * kv_heads) * head_dim;
  T* row = qkv + static_cast<u64>(blockIdx.x) * all;
  const u64 table = static_cast<u64>(positions[blockIdx.x]) * half;
  const u64 page = static_cast<u64>(slot >> 4) * kv_heads * head_dim * 16;
  const int place = slot & 15;
  for (int i = threadIdx.x; i < rotated; i += blockDim.x) {
    const int head = i / half, pair = i % half, low = head * head_dim + pair, high = low + half;
    float a = to_float(row[low]), b = to_float(row[high]);
    if (bias != nullptr) a += to_float(bias[low]), b += to_float(bias[high]);
    const float c = cosine[table + pair], s = sine[table + pair];
    const T first = from_float<T>(a * c - b * s), second = from_float<T>(b * c + a * s);
    row[low] = first;
    row[high] = second;
    if (head >= heads) {
      T* key = keys + page + (static_cast<u64>(head - heads) * 16 + place) * head_dim;
      key[pair] = first;
      key[pair + half] = second;
    }
  }
  for (int i = threadIdx.x; i < kv_heads * head_dim; i += blockDim.x) {
    const int at = 2 * rotated + i;
    T value = row[at];
    if (bias != nullptr) {
      value = from_float<T>(to_float(value) + to_float(bias[at]));
      row[at] = value;
    }
    values[page + static_cast<u64>(i) * 16 + place] = value;
  }
}
FOR_BOTH_TYPES(rotate_into_cache,
               (bf16* qkv, const bf16* bias, const int* positions, const int* slots, const float* cosine,
                const float* sine, bf16* keys, bf16* values, int heads, int kv_heads, int head_dim),
               (float* qkv, const float* bias, const int* positions, const int* slots, const float* cosine,
                const float* sine, float* keys, float* values, int heads, int kv_heads, int head_dim),
               (qkv, bias, positions, slots, cosine, sine, keys, values, heads, kv_heads, head_dim))

__device__ inline float sigmoid(float x) { return 1 / (1 + __expf(-x)); }

// gate_up (rows, 2, width) -> y (rows, width) = silu(gate) * up. grid: (rows, parts of a row)
template <class T>
__device__ void swiglu(const T* gate_up, T* y, int width) {
  constexpr int size = Pack<T>::size;
  after_previous();
  const int i = (blockIdx.y * blockDim.x + threadIdx.x) * size;
  if (i >= width) return;
  const T* row = gate_up + static_cast<u64>(blockIdx.x) * 2 * width;
  float gate[size], up[size];
  Pack<T>::load(row + i, gate);
  Pack<T>::load(row + width + i, up);
  for (int k = 0; k < size; ++k) up[k] *= gate[k] * sigmoid(gate[k]);
  Pack<T>::store(y + static_cast<u64>(blockIdx.x) * width + i, up);
}
FOR_BOTH_TYPES(swiglu, (const bf16* gate_up, bf16* y, int width), (const float* gate_up, float* y, int width),
               (gate_up, y, width))

// gate_up becomes its gradient; y, unless null, gets silu(gate) * up once more.
template <class T>
__device__ void swiglu_backward(T* gate_up, const T* dy, T* y, int width) {
  constexpr int size = Pack<T>::size;
  const int i = (blockIdx.y * blockDim.x + threadIdx.x) * size;
  if (i >= width) return;
  T* row = gate_up + static_cast<u64>(blockIdx.x) * 2 * width;
  const u64 at = static_cast<u64>(blockIdx.x) * width + i;
  float gate[size], up[size], gradient[size], product[size];
  Pack<T>::load(row + i, gate);
  Pack<T>::load(row + width + i, up);
  Pack<T>::load(dy + at, gradient);
  for (int k = 0; k < size; ++k) {
    const float s = sigmoid(gate[k]), silu = gate[k] * s;
    product[k] = silu * up[k];
    gate[k] = gradient[k] * up[k] * (s + silu * (1 - s));
    up[k] = gradient[k] * silu;
  }
  Pack<T>::store(row + i, gate);
  Pack<T>::store(row + width + i, up);
  if (y != nullptr) Pack<T>::store(y + at, product);
}
FOR_BOTH_TYPES(swiglu_backward, (bf16* gate_up, const bf16* dy, bf16* y, int width),
               (float* gate_up, const float* dy, float* y, int width), (gate_up, dy, y, width))
