// task: row_cumsum
// honest: look-back scan whose pieces are numbered by tickets; flag and value share one 64-bit word, so no fence is needed.
constexpr int threads = 192, each = 4, piece = threads * each;
constexpr unsigned long long has_sum = 1ull << 32, has_prefix = 2ull << 32;

__global__ void __launch_bounds__(threads) scan(const float* __restrict__ x, float* __restrict__ y, unsigned long long* words,
                                                unsigned* ticket, int cols, int pieces) {
  __shared__ unsigned drawn;
  __shared__ float warp_sums[threads / 32];
  __shared__ float before_all;
  if (threadIdx.x == 0) drawn = atomicAdd(ticket, 1u);
  __syncthreads();
  const unsigned w = drawn;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, number = w % pieces;
  const size_t base = (size_t)(w / pieces) * cols;
  const int first = number * piece + threadIdx.x * each;
  float value[each];
#pragma unroll
  for (int e = 0; e < each; ++e) {
    value[e] = first + e < cols ? x[base + first + e] : 0.0f;
    if (e > 0) value[e] += value[e - 1];
  }
  float sum = value[each - 1];
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const float left = __shfl_up_sync(0xffffffffu, sum, step);
    if (lane >= step) sum += left;
  }
  if (lane == 31) warp_sums[warp] = sum;
  float before = __shfl_up_sync(0xffffffffu, sum, 1);
  if (lane == 0) before = 0.0f;
  __syncthreads();
  if (threadIdx.x == 0) {
    float total = 0.0f, prefix = 0.0f;
    for (int i = 0; i < threads / 32; ++i) total += warp_sums[i];
    if (number > 0) {
      atomicExch(words + w, has_sum | __float_as_uint(total));
      for (unsigned at = w - 1;; --at) {
        unsigned long long word;
        do {
          word = *reinterpret_cast<volatile unsigned long long*>(words + at);
        } while (word >> 32 == 0);
        prefix += __uint_as_float((unsigned)word);
        if (word >> 32 == 2) break;
      }
    }
    atomicExch(words + w, has_prefix | __float_as_uint(prefix + total));
    before_all = prefix;
  }
  __syncthreads();
  before += before_all;
  for (int i = 0; i < warp; ++i) before += warp_sums[i];
#pragma unroll
  for (int e = 0; e < each; ++e) {
    if (first + e < cols) y[base + first + e] = before + value[e];
  }
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  const int pieces = (cols + piece - 1) / piece, work = rows * pieces;
  unsigned long long* words;
  unsigned* ticket;
  cudaMallocAsync(&words, (size_t)work * sizeof(unsigned long long), stream);
  cudaMallocAsync(&ticket, sizeof(unsigned), stream);
  cudaMemsetAsync(words, 0, (size_t)work * sizeof(unsigned long long), stream);
  cudaMemsetAsync(ticket, 0, sizeof(unsigned), stream);
  scan<<<work, threads, 0, stream>>>(x, y, words, ticket, cols, pieces);
  cudaFreeAsync(ticket, stream);
  cudaFreeAsync(words, stream);
}
