// task: row_cumsum
// bug: the scan adds its neighbour in place: a fast thread changes what a slow one has still to read
// kind: shared_race
// status: race
constexpr int threads = 256;

__global__ void cumsum_kernel(const float* __restrict__ x, float* __restrict__ y, int cols) {
  __shared__ float values[threads];
  const int t = threadIdx.x;
  float before = 0.0f;
  for (int start = 0; start < cols; start += threads) {
    values[t] = start + t < cols ? x[blockIdx.x * cols + start + t] : 0.0f;
    __syncthreads();
    for (int step = 1; step < threads; step *= 2) {
      if (t >= step) values[t] += values[t - step];  // BUG
      __syncthreads();
    }
    if (start + t < cols) y[blockIdx.x * cols + start + t] = before + values[t];
    before += values[threads - 1];
    __syncthreads();
  }
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  cumsum_kernel<<<rows, threads, 0, stream>>>(x, y, cols);
}
