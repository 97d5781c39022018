// task: row_sum
// rule: threads leave the loop and wait at another barrier than those still in it (CUDA C++ Programming Guide, "Synchronization Functions": __syncthreads() waits for all non-exited threads of the block)
// status: fault|timeout|race
// kind: barrier_divergence|barrier_deadlock|shared_race
// gpu: none
__global__ void row_sum_kernel(const float* __restrict__ x, float* __restrict__ y, int cols) {
  __shared__ float tile[128];
  __shared__ float total;
  const int t = threadIdx.x;
  if (t == 0) total = 0.0f;
  __syncthreads();
  for (int c = t; c < cols; c += 128) {
    tile[t] = x[(size_t)blockIdx.x * cols + c];
    __syncthreads();
    atomicAdd(&total, tile[t]);
  }
  tile[t] = 0.0f;
  __syncthreads();
  if (t == 0) y[blockIdx.x] = total + tile[5];
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  row_sum_kernel<<<rows, 128, 0, stream>>>(x, y, cols);
}
