// task: scatter_add_rows
// bug: some blocks copy the base while others already add to it
// kind: global_race|uninitialised_output
// status: race|fault
__global__ void scatter_kernel(const float* __restrict__ base, const float* __restrict__ x,
                               const int* __restrict__ index, float* y, int bins, int cols, int rows) {
  const int c = blockIdx.y * blockDim.x + threadIdx.x;
  if (c >= cols) return;
  const int row = blockIdx.x;
  if (row < bins) y[row * cols + c] = base[row * cols + c];                // BUG
  if (row < rows) atomicAdd(&y[index[row] * cols + c], x[row * cols + c]);  // BUG
}

extern "C" void launch(const float* base, const float* x, const int* index, float* y, int bins, int cols, int rows,
                       cudaStream_t stream) {
  const dim3 grid(bins > rows ? bins : rows, (cols + 63) / 64);
  scatter_kernel<<<grid, 64, 0, stream>>>(base, x, index, y, bins, cols, rows);
}
