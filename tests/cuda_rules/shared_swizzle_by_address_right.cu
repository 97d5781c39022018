// task: transpose
// rule: an address may be swizzled by its bits only if the array is aligned to all of them, which it is when its declaration says so (PTX ISA 9.0, 5.4.5 "Alignment")
// status: correct
// gpu: values
// A swizzle of 1,024-byte rows, written by index and read by address: the two agree where the array is aligned.
extern __shared__ __align__(1024) float memory[];

__global__ void transpose_kernel(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
  __shared__ int live;
  const int c = blockIdx.x * 32 + threadIdx.x;
  if (threadIdx.x == 0 && threadIdx.y == 0) live = rows;
  for (int j = threadIdx.y; j < 32; j += 8) {
    const int r = blockIdx.y * 32 + j;
    if (r < rows && c < cols) memory[j * 32 + (threadIdx.x ^ (j & 7))] = x[(size_t)r * cols + c];
  }
  __syncthreads();
  const int out = blockIdx.y * 32 + threadIdx.x;
  for (int j = threadIdx.y; j < 32; j += 8) {
    const unsigned place = (unsigned)__cvta_generic_to_shared(&memory[threadIdx.x * 32 + j]);
    const unsigned swizzled = place ^ (place >> 7 & 7u) << 2;
    float value;
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(value) : "r"(swizzled));
    if (blockIdx.x * 32 + j < cols && out < rows && live == rows)
      y[(size_t)(blockIdx.x * 32 + j) * rows + out] = value;
  }
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  transpose_kernel<<<dim3((cols + 31) / 32, (rows + 31) / 32), dim3(32, 8), 4096, stream>>>(x, y, rows, cols);
}
