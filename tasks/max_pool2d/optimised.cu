// A thread walks down four pairs of outputs. Each input row is reduced once to the pair's horizontal maxima, from one
// 16-byte load; the row between two windows serves both. Coordinates are clamped instead of tested: an edge element
// taken twice does not change a maximum, and all loads can be in flight together.
constexpr int threads = 128;
constexpr int outputs_per_thread = 4;

// Horizontal maxima of outputs 2 * pair and 2 * pair + 1, which span columns 4 * pair - 1 to 4 * pair + 3.
template <bool aligned>
__device__ float2 row_max(const float* row, int pair, int width) {
  const int first = 4 * pair;
  const float before = row[max(first - 1, 0)];
  float4 v;
  if (aligned) {
    v = reinterpret_cast<const float4*>(row)[pair];
  } else {
    const int last = width - 1;
    v = make_float4(row[first], row[min(first + 1, last)], row[min(first + 2, last)], row[min(first + 3, last)]);
  }
  return make_float2(fmaxf(before, fmaxf(v.x, v.y)), fmaxf(v.y, fmaxf(v.z, v.w)));
}

__device__ float2 max_of(float2 a, float2 b) { return make_float2(fmaxf(a.x, b.x), fmaxf(a.y, b.y)); }

// Block (x, y): plane x, a run of that many threads over its strips and pairs.
template <bool aligned>
__global__ void max_pool_3x3(const float* __restrict__ x, float* __restrict__ y, int height, int width, int out_height,
                             int out_width) {
  const int pairs = (out_width + 1) / 2;
  const int i = blockIdx.y * threads + threadIdx.x;
  const int strip = i / pairs, pair = i - strip * pairs;
  const int first = strip * outputs_per_thread;
  if (first >= out_height) return;
  const float* in = x + static_cast<size_t>(blockIdx.x) * height * width;
  float* out = y + static_cast<size_t>(blockIdx.x) * out_height * out_width;

  constexpr int rows = 2 * outputs_per_thread + 1;
  float2 line[rows];
#pragma unroll
  for (int r = 0; r < rows; ++r) {
    const int row = min(max(2 * first - 1 + r, 0), height - 1);
    line[r] = row_max<aligned>(in + static_cast<size_t>(row) * width, pair, width);
  }
#pragma unroll
  for (int k = 0; k < outputs_per_thread; ++k) {
    if (first + k >= out_height) break;
    const float2 best = max_of(line[2 * k], max_of(line[2 * k + 1], line[2 * k + 2]));
    float* target = out + static_cast<size_t>(first + k) * out_width + 2 * pair;
    if (aligned) {
      *reinterpret_cast<float2*>(target) = best;
    } else {
      target[0] = best.x;
      if (2 * pair + 1 < out_width) target[1] = best.y;
    }
  }
}

constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }

extern "C" void launch(const float* x, float* y, int batch, int channels, int height, int width, cudaStream_t stream) {
  const int out_height = (height - 1) / 2 + 1;
  const int out_width = (width - 1) / 2 + 1;
  const int workers = ceil_div(out_height, outputs_per_thread) * ceil_div(out_width, 2);
  const dim3 grid(batch * channels, ceil_div(workers, threads));
  if (width % 4 == 0) {
    max_pool_3x3<true><<<grid, threads, 0, stream>>>(x, y, height, width, out_height, out_width);
  } else {
    max_pool_3x3<false><<<grid, threads, 0, stream>>>(x, y, height, width, out_height, out_width);
  }
}
