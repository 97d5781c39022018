// task: row_sum
// rule: cooperative_groups::memcpy_async is complete after cooperative_groups::wait, a barrier alone does not wait for it (CUDA C++ Programming Guide, "memcpy_async")
// status: race
// kind: shared_race
// gpu: values
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>

namespace cg = cooperative_groups;

__global__ void row_sum_kernel(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
  __shared__ float tile[512];
  __shared__ float parts[128];
  const cg::thread_block block = cg::this_thread_block();
  const float* row = x + (size_t)blockIdx.x * cols;
  float sum = 0.0f;
  for (int first = 0; first < cols; first += 512) {
    const int count = min(512, cols - first);
    cg::memcpy_async(block, tile, row + first, sizeof(float) * count);
    block.sync();
    for (int c = threadIdx.x; c < count; c += 128) sum += tile[c];
    block.sync();
  }
  parts[threadIdx.x] = sum;
  __syncthreads();
  for (int step = 64; step > 0; step /= 2) {
    if (threadIdx.x < step) parts[threadIdx.x] += parts[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) y[blockIdx.x] = parts[0];
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  row_sum_kernel<<<rows, 128, 0, stream>>>(x, y, rows, cols);
}
