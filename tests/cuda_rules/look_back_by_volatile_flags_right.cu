// task: row_cumsum
// rule: a volatile flag between blocks, with a fence before it is set and one after it was seen (CUDA C++ Programming Guide, "Memory Fence Functions")
// status: correct
// gpu: values
// The flags are volatile, the values are not.

__global__ void cumsum_kernel(const float* __restrict__ x, float* y, int* flags, int cols, int pieces) {
  const int lane = threadIdx.x;
  const int piece = blockIdx.x, row = blockIdx.y;
  const int c = piece * 32 + lane;
  float sum = c < cols ? x[(size_t)row * cols + c] : 0.0f;
  for (int step = 1; step < 32; step *= 2) {
    const float left = __shfl_up_sync(0xffffffffu, sum, step);
    if (lane >= step) sum += left;
  }
  float before = 0.0f;
  if (piece > 0) {
    if (lane == 0) {
      while (*(volatile int*)&flags[row * pieces + piece - 1] == 0) {
      }
      __threadfence();
      before = y[(size_t)row * cols + piece * 32 - 1];
    }
    before = __shfl_sync(0xffffffffu, before, 0);
  }
  if (c < cols) y[(size_t)row * cols + c] = before + sum;
  __threadfence();
  __syncwarp();
  if (lane == 0) *(volatile int*)&flags[row * pieces + piece] = 1;
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  const int pieces = (cols + 31) / 32;
  int* flags;
  cudaMallocAsync(&flags, (size_t)rows * pieces * sizeof(int), stream);
  cudaMemsetAsync(flags, 0, (size_t)rows * pieces * sizeof(int), stream);
  cumsum_kernel<<<dim3(pieces, rows), 32, 0, stream>>>(x, y, flags, cols, pieces);
  cudaFreeAsync(flags, stream);
}
