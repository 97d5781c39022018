// task: softmax
__global__ void rows_x(const float* x, float* y, int rows, int cols) { y[0] = x[0] + rows + cols; }
extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  dim3 one;
  dim3 two(32, 4);
  dim3 three{8, 4, 2};
  dim3 grid = dim3((cols + 31) / 32, (rows + 3) / 4);
  auto copied = grid;
  const dim3 four(cols > 64 ? 64 : 32);
  rows_x<<<one, two, 0, stream>>>(x, y, rows, cols);
  rows_x<<<grid, three, 0, stream>>>(x, y, rows, cols);
  rows_x<<<copied, four, 0, stream>>>(x, y, cols, rows);
  rows_x<<<dim3(rows), dim3{64, 2}, 0, stream>>>(x, y, rows, cols);
  rows_x<<<{2, 3}, {16, 16, 2}, 0, stream>>>(x, y, rows, cols);
  rows_x<<<rows, 128>>>(x, y, rows, cols);
}
