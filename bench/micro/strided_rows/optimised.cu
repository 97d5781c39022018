// One warp for 32 rows: coalesced loads, one line each, added up by shuffles; lane r keeps the sum of row r.
constexpr int cols = 32;
constexpr int threads = 128;

__global__ void row_sums(const float* x, float* y, int rows) {
  const int lane = threadIdx.x % cols;
  const int first = (blockIdx.x * threads + threadIdx.x) / cols * cols;
  float mine = 0.0f;
#pragma unroll 8
  for (int r = 0; r < cols; ++r) {
    float v = first + r < rows ? x[static_cast<size_t>(first + r) * cols + lane] : 0.0f;
#pragma unroll
    for (int offset = cols / 2; offset > 0; offset /= 2) v += __shfl_xor_sync(0xffffffffu, v, offset);
    if (lane == r) mine = v;
  }
  if (first + lane < rows) y[first + lane] = mine;
}

extern "C" void launch(const float* x, float* y, int rows, cudaStream_t stream) {
  row_sums<<<(rows + threads - 1) / threads, threads, 0, stream>>>(x, y, rows);
}
