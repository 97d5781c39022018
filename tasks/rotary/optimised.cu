// A thread turns four pairs at once: both halves of a row are loaded once and serve both outputs, in 16-byte accesses.
// The cosines and sines of a position stay in the caches for all heads.
template <int width>
struct alignas(width * sizeof(float)) Pack {
  float at[width];
};

template <int width>
__global__ void rotate_pairs(const float* __restrict__ x, const float* __restrict__ cosine,
                             const float* __restrict__ sine, float* __restrict__ y, int rows, int seq, int pairs) {
  const int packs = pairs / width;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int row = i / packs;
  if (row >= rows) return;
  const int low = i - row * packs;
  const int high = low + packs;
  const auto* in = reinterpret_cast<const Pack<width>*>(x) + static_cast<size_t>(row) * 2 * packs;
  auto* out = reinterpret_cast<Pack<width>*>(y) + static_cast<size_t>(row) * 2 * packs;
  const size_t angles = static_cast<size_t>(row % seq) * 2 * packs;
  const auto* cosines = reinterpret_cast<const Pack<width>*>(cosine) + angles;
  const auto* sines = reinterpret_cast<const Pack<width>*>(sine) + angles;

  const Pack<width> first = in[low], second = in[high];
  const Pack<width> low_cosine = cosines[low], high_cosine = cosines[high];
  const Pack<width> low_sine = sines[low], high_sine = sines[high];
  Pack<width> low_out, high_out;
#pragma unroll
  for (int k = 0; k < width; ++k) {
    low_out.at[k] = first.at[k] * low_cosine.at[k] - second.at[k] * low_sine.at[k];
    high_out.at[k] = second.at[k] * high_cosine.at[k] + first.at[k] * high_sine.at[k];
  }
  out[low] = low_out;
  out[high] = high_out;
}

constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }

extern "C" void launch(const float* x, const float* cosine, const float* sine, float* y, int batch, int heads, int seq,
                       int pairs, cudaStream_t stream) {
  constexpr int threads = 256;
  const int rows = batch * heads * seq;
  if (pairs % 4 == 0) {
    const int blocks = ceil_div(rows * (pairs / 4), threads);
    rotate_pairs<4><<<blocks, threads, 0, stream>>>(x, cosine, sine, y, rows, seq, pairs);
  } else {
    const int blocks = ceil_div(rows * pairs, threads);
    rotate_pairs<1><<<blocks, threads, 0, stream>>>(x, cosine, sine, y, rows, seq, pairs);
  }
}
