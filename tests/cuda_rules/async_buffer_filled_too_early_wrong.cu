// task: row_sum
// rule: a copy may land as soon as it is issued, so a barrier lies between the last read of a buffer and the next copy into it (PTX ISA 9.0, 9.7.9.25.1 "Completion Mechanisms for Asynchronous Copy Operations")
// status: race
// kind: shared_race
// gpu: racecheck
#include <cuda_pipeline.h>

constexpr int stages = 2, width = 128;

__global__ void row_sum_kernel(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
  __shared__ float ring[stages][width];
  __shared__ float parts[width];
  const int rounds = (cols + width - 1) / width;
  const float* row = x + (size_t)blockIdx.x * cols;
  const auto fetch = [&](int round) {
    const int c = round * width + threadIdx.x;
    if (round < rounds && c < cols) __pipeline_memcpy_async(&ring[round % stages][threadIdx.x], row + c, 4);
    __pipeline_commit();
  };
  for (int round = 0; round < stages - 1; ++round) fetch(round);
  float sum = 0.0f;
  for (int round = 0; round < rounds; ++round) {
    fetch(round + stages - 1);
    __pipeline_wait_prior(1);
    __syncthreads();
    // A neighbour's element, so that the whole block depends on the copies of all.
    const int other = (threadIdx.x + 32) % width;
    if (round * width + other < cols) sum += ring[round % stages][other];
  }
  parts[threadIdx.x] = sum;
  __syncthreads();
  for (int step = width / 2; step > 0; step /= 2) {
    if (threadIdx.x < step) parts[threadIdx.x] += parts[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) y[blockIdx.x] = parts[0];
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  row_sum_kernel<<<rows, 128, 0, stream>>>(x, y, rows, cols);
}
