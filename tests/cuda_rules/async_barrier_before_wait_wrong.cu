// task: transpose
// rule: a barrier before the wait orders nothing that is still under way (PTX ISA 9.0, 9.7.9.25.3.3 "cp.async.wait_group")
// status: race
// kind: shared_race
// gpu: racecheck
__device__ void copy_word(float* to, const float* from) {
  const unsigned place = (unsigned)__cvta_generic_to_shared(to);
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(place), "l"(from) : "memory");
}

__global__ void transpose_kernel(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
  __shared__ float tile[32][33];
  const int c = blockIdx.x * 32 + threadIdx.x;
  for (int j = threadIdx.y; j < 32; j += 8) {
    const int r = blockIdx.y * 32 + j;
    if (r < rows && c < cols) copy_word(&tile[j][threadIdx.x], x + (size_t)r * cols + c);
  }
  asm volatile("cp.async.commit_group;" ::: "memory");
  __syncthreads();
  asm volatile("cp.async.wait_group 0;" ::: "memory");
  const int out = blockIdx.y * 32 + threadIdx.x;
  for (int j = threadIdx.y; j < 32; j += 8)
    if (blockIdx.x * 32 + j < cols && out < rows) y[(size_t)(blockIdx.x * 32 + j) * rows + out] = tile[threadIdx.x][j];
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  transpose_kernel<<<dim3((cols + 31) / 32, (rows + 31) / 32), dim3(32, 8), 0, stream>>>(x, y, rows, cols);
}
