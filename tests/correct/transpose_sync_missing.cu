// task: transpose_f16
#include <cuda_fp16.h>

constexpr int side = 32;

__global__ void transpose_kernel(const __half* __restrict__ x, __half* __restrict__ y, int rows, int cols) {
  __shared__ __half tile[side][side + 2];
  const int column = blockIdx.x * side + threadIdx.x;
  const int row = blockIdx.y * side;
  for (int j = threadIdx.y; j < side; j += blockDim.y)
    if (row + j < rows && column < cols) tile[j][threadIdx.x] = x[(row + j) * cols + column];
  __syncthreads();
  const int out_column = blockIdx.y * side + threadIdx.x;
  const int out_row = blockIdx.x * side;
  for (int j = threadIdx.y; j < side; j += blockDim.y)
    if (out_row + j < cols && out_column < rows) y[(out_row + j) * rows + out_column] = tile[threadIdx.x][j];
}

extern "C" void launch(const __half* x, __half* y, int rows, int cols, cudaStream_t stream) {
  const dim3 grid((cols + side - 1) / side, (rows + side - 1) / side);
  transpose_kernel<<<grid, dim3(side, 8), 0, stream>>>(x, y, rows, cols);
}
