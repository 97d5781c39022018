// task: row_sum
// rule: volatile does not make the lanes of a warp wait for each other (CUDA C++ Programming Guide, "Independent Thread Scheduling")
// status: race
// kind: shared_race
// gpu: racecheck
__global__ void row_sum_kernel(const float* __restrict__ x, float* __restrict__ y, int cols) {
  __shared__ float values[128];
  const int t = threadIdx.x;
  float sum = 0.0f;
  for (int c = t; c < cols; c += 128) sum += x[(size_t)blockIdx.x * cols + c];
  values[t] = sum;
  __syncthreads();
  if (t < 32) {
    volatile float* v = values;
    float s = v[t] + v[t + 32] + v[t + 64] + v[t + 96];
    ;
    v[t] = s;
    ;
    for (int step = 16; step > 0; step /= 2) {
      s += v[(t + step) % 32];
      ;
      v[t] = s;
      ;
    }
    if (t == 0) y[blockIdx.x] = v[0];
  }
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  row_sum_kernel<<<rows, 128, 0, stream>>>(x, y, cols);
}
