// task: row_sum
// rule: a flag between the warps of a block, with a fence on both sides (CUDA C++ Programming Guide, "Memory Fence Functions")
// status: correct
// gpu: racecheck (racecheck does not follow fences)
__global__ void row_sum_kernel(const float* __restrict__ x, float* __restrict__ y, int cols) {
  __shared__ float half_sum;
  __shared__ int ready;
  const int t = threadIdx.x;
  if (t == 0) ready = 0;
  __syncthreads();
  float sum = 0.0f;
  for (int c = t; c < cols; c += 64) sum += x[(size_t)blockIdx.x * cols + c];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
  if (t == 32) {
    half_sum = sum;
    __threadfence_block();
    *(volatile int*)&ready = 1;
  }
  if (t == 0) {
    while (*(volatile int*)&ready == 0) {
    }
    __threadfence_block();
    y[blockIdx.x] = sum + half_sum;
  }
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  row_sum_kernel<<<rows, 64, 0, stream>>>(x, y, cols);
}
