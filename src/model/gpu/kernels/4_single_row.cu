// Products for one row: weights (out, in) stream past once. And low-rank additions for a few rows.

// y (out) = weight x, where x is first normed if `norm` is not null. A warp does two outputs at a time: neighbours, or
// with `pairs` gate i and up i (weight (2 out, in)), whose silu(gate) * up is then the result. With `shared` all warps
// of a block (four at most) do the same outputs, each a part of the row. y = sum + bias + residual, where those are not
// null; residual may be y. Dynamic shared memory: `in` elements of T.
template <class T, class Y>
__device__ void single_row(const T* x, const T* norm, float epsilon, const T* weight, const T* bias, const T* residual,
                           Y* y, int in, int out, int pairs, int shared) {
  extern __shared__ uint4 shared_row[];
  __shared__ float scratch[32];
  __shared__ float2 partial[4];
  T* row = reinterpret_cast<T*>(shared_row);
  constexpr int size = Pack<T>::size;
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
  const int count = pairs ? out : (out + 1) / 2;
  // Eight loads of 16 bytes are under way at a time: bandwidth is bytes in flight over latency.
  constexpr int ahead = 4, stride = 32 * size;
  uint4 left[ahead], right[ahead];
  const auto fetch = [&](int w, int start) {
    const int first = pairs ? w : 2 * w, second = pairs ? w + out : min(2 * w + 1, out - 1);
    const T* a = weight + static_cast<u64>(first) * in;
    const T* b = weight + static_cast<u64>(second) * in;
#pragma unroll
    for (int u = 0; u < ahead; ++u) {
      const int i = start + u * stride;
      left[u] = right[u] = make_uint4(0, 0, 0, 0);
      if (i < in) {
        left[u] = load_now(a + i);
        right[u] = load_now(b + i);
      }
    }
  };
  const int begin = (shared ? warp * ahead * stride : 0) + lane * size, step = (shared ? warps : 1) * ahead * stride;
  const int first_work = shared ? blockIdx.x : blockIdx.x * warps + warp;
  // Weights are nobody's result: the first are under way before x is there.
  if (first_work < count) fetch(first_work, begin);
  after_previous();

  float inverse = 1;
  if (norm != nullptr) {
    float squares = 0;
    for (int i = threadIdx.x * size; i < in; i += blockDim.x * size) {
      float values[size];
      Pack<T>::load(x + i, values);
      for (int k = 0; k < size; ++k) squares += values[k] * values[k];
    }
    inverse = rsqrtf(block_sum(squares, scratch) / in + epsilon);
  }
  for (int i = threadIdx.x * size; i < in; i += blockDim.x * size) {
    float values[size];
    Pack<T>::load(x + i, values);
    if (norm != nullptr) {
      float weights[size];
      Pack<T>::load(norm + i, weights);
      for (int k = 0; k < size; ++k) values[k] = to_float(from_float<T>(values[k] * inverse)) * weights[k];
    }
    Pack<T>::store(row + i, values);
  }
  __syncthreads();

  bool fetched = true;
  for (int w = first_work; w < count; w += shared ? gridDim.x : gridDim.x * warps) {
    float sum_a = 0, sum_b = 0;
    for (int start = begin; start < in; start += step) {
      if (!fetched) fetch(w, start);
      fetched = false;
#pragma unroll
      for (int u = 0; u < ahead; ++u) {
        const int i = start + u * stride;
        if (i >= in) break;
        float values[size], one[size], other[size];
        Pack<T>::load(row + i, values);
        Pack<T>::unpack(left[u], one);
        Pack<T>::unpack(right[u], other);
        for (int k = 0; k < size; ++k) sum_a += one[k] * values[k], sum_b += other[k] * values[k];
      }
    }
    fetched = false;  // a lane beyond the row's end has used nothing of it
    sum_a = warp_sum(sum_a);
    sum_b = warp_sum(sum_b);
    if (shared) {
      __syncthreads();
      if (lane == 0) partial[warp] = make_float2(sum_a, sum_b);
      __syncthreads();
      if (threadIdx.x != 0) continue;
      for (int i = 1; i < warps; ++i) sum_a += partial[i].x, sum_b += partial[i].y;
    }
    if (lane != 0) continue;
    if (pairs) {
      // Rounded as if they had been stored between the product and silu.
      const float gate = to_float(from_float<T>(sum_a)), up = to_float(from_float<T>(sum_b));
      y[w] = from_float<Y>(gate * sigmoid(gate) * up);
    } else {
      for (int k = 0; k < 2 && 2 * w + k < out; ++k) {
        float sum = k == 0 ? sum_a : sum_b;
        if (bias != nullptr) sum += to_float(bias[2 * w + k]);
        if (residual != nullptr) sum = to_float(from_float<T>(sum)) + to_float(residual[2 * w + k]);
        y[2 * w + k] = from_float<Y>(sum);
      }
    }
  }
}
FOR_BOTH_TYPES(single_row,
               (const bf16* x, const bf16* norm, float epsilon, const bf16* weight, const bf16* bias,
                const bf16* residual, bf16* y, int in, int out, int pairs, int shared),
               (const float* x, const float* norm, float epsilon, const float* weight, const float* bias,
                const float* residual, float* y, int in, int out, int pairs, int shared),
               (x, norm, epsilon, weight, bias, residual, y, in, out, pairs, shared))
extern "C" __global__ void single_row_logits_bf16(const bf16* x, const bf16* norm, float epsilon, const bf16* weight,
                                                  const bf16* bias, const bf16* residual, float* y, int in, int out,
                                                  int pairs, int shared) {
  single_row<bf16, float>(x, norm, epsilon, weight, bias, residual, y, in, out, pairs, shared);
}

// y[row] += scale * B (A x[row]) with the row's adapter; a[i], b[i] (addresses) and scales[i] are those of adapter i,
// a[i] = 0: it does not touch this layer. `in` is a multiple of 8. grid: (parts of the outputs, rows). Dynamic shared
// memory: rank floats.
template <class T>
__device__ void low_rank_rows(const T* x, int x_stride, T* y, int y_stride, const int* adapter_of_row,
                              const T* const* a, const T* const* b, const float* scales, const int* ranks, int in,
                              int out, int part) {
  extern __shared__ float inner[];
  after_previous();
  const int row = blockIdx.y, adapter = adapter_of_row[row];
  if (adapter < 0 || a[adapter] == nullptr) return;
  const int rank = ranks[adapter], lane = threadIdx.x & 31;
  constexpr int size = Pack<T>::size;
  const T* input = x + static_cast<u64>(row) * x_stride;
  for (int j = threadIdx.x >> 5; j < rank; j += blockDim.x >> 5) {
    const T* weights = a[adapter] + static_cast<u64>(j) * in;
    float sum = 0;
    for (int i = lane * size; i < in; i += 32 * size) {
      float values[size], factors[size];
      Pack<T>::load(input + i, values);
      Pack<T>::load(weights + i, factors);
      for (int k = 0; k < size; ++k) sum += values[k] * factors[k];
    }
    sum = warp_sum(sum);
    if (lane == 0) inner[j] = to_float(from_float<T>(sum));
  }
  __syncthreads();
  const int begin = blockIdx.x * part, end = min(begin + part, out);
  for (int o = begin + threadIdx.x; o < end; o += blockDim.x) {
    const T* weights = b[adapter] + static_cast<u64>(o) * rank;
    float sum = 0;
    if (rank % size == 0) {
      for (int j = 0; j < rank; j += size) {
        float factors[size];
        Pack<T>::load(weights + j, factors);
        for (int k = 0; k < size; ++k) sum += inner[j + k] * factors[k];
      }
    } else {
      for (int j = 0; j < rank; ++j) sum += inner[j] * to_float(weights[j]);
    }
    T* place = y + static_cast<u64>(row) * y_stride + o;
    *place = from_float<T>(to_float(*place) + scales[adapter] * sum);
  }
}
FOR_BOTH_TYPES(low_rank_rows,
               (const bf16* x, int x_stride, bf16* y, int y_stride, const int* adapter_of_row, const bf16* const* a,
                const bf16* const* b, const float* scales, const int* ranks, int in, int out, int part),
               (const float* x, int x_stride, float* y, int y_stride, const int* adapter_of_row, const float* const* a,
                const float* const* b, const float* scales, const int* ranks, int in, int out, int part),
               (x, x_stride, y, y_stride, adapter_of_row, a, b, scales, ranks, in, out, part))
