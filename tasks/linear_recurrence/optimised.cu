// One warp a row: h -> a * h + b are affine maps, and composing maps is associative, so 128 steps are scanned at once:
// four in a lane's registers, the lanes' maps by shuffles. The carried state is then one multiply-add.
constexpr int warp_size = 32;
constexpr int rows_per_block = 4;

template <int width>
struct alignas(width * sizeof(float)) Pack {
  float at[width];
};

// h -> factor * h + shift; the default changes nothing.
struct Map {
  float factor = 1.0f;
  float shift = 0.0f;

  __device__ float operator()(float h) const { return factor * h + shift; }
};

__device__ Map then(Map first, Map second) { return {first.factor * second.factor, second(first.shift)}; }

__device__ Map shuffle_up(Map map, int offset) {
  return {__shfl_up_sync(0xffffffffu, map.factor, offset), __shfl_up_sync(0xffffffffu, map.shift, offset)};
}

template <int width>
__global__ void recurrence(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ h, int rows,
                           int steps) {
  const int row = blockIdx.x * rows_per_block + threadIdx.y;
  if (row >= rows) return;
  const size_t origin = static_cast<size_t>(row) * steps;
  const auto* factors = reinterpret_cast<const Pack<width>*>(a + origin);
  const auto* shifts = reinterpret_cast<const Pack<width>*>(b + origin);
  auto* out = reinterpret_cast<Pack<width>*>(h + origin);
  const int packs = steps / width;
  const int lane = threadIdx.x;

  float state = 0.0f;
#pragma unroll 2
  for (int start = 0; start < packs; start += warp_size) {
    const int i = start + lane;
    Map own[width];
    if (i < packs) {
      const Pack<width> factor = factors[i];
      const Pack<width> shift = shifts[i];
#pragma unroll
      for (int k = 0; k < width; ++k) own[k] = {factor.at[k], shift.at[k]};
    }
#pragma unroll
    for (int k = 1; k < width; ++k) own[k] = then(own[k - 1], own[k]);

    Map scanned = own[width - 1];
    for (int offset = 1; offset < warp_size; offset *= 2) {
      const Map below = shuffle_up(scanned, offset);
      if (lane >= offset) scanned = then(below, scanned);
    }
    const Map previous = shuffle_up(scanned, 1);
    const float before = lane == 0 ? state : previous(state);
    if (i < packs) {
      Pack<width> result;
#pragma unroll
      for (int k = 0; k < width; ++k) result.at[k] = own[k](before);
      out[i] = result;
    }
    state = __shfl_sync(0xffffffffu, scanned(state), warp_size - 1);
  }
}

extern "C" void launch(const float* a, const float* b, float* h, int rows, int steps, cudaStream_t stream) {
  const dim3 block(warp_size, rows_per_block);
  const int blocks = (rows + rows_per_block - 1) / rows_per_block;
  if (steps % 4 == 0) {
    recurrence<4><<<blocks, block, 0, stream>>>(a, b, h, rows, steps);
  } else {
    recurrence<1><<<blocks, block, 0, stream>>>(a, b, h, rows, steps);
  }
}
