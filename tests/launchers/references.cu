// task: softmax
__global__ void k(const float* x, int a, int b, int c) {}
static void split(int n, int& low, int* high) {
  low = n / 3;
  *high = n - low;
}
static void grow(dim3& grid, const dim3& by) {
  grid.x += by.x;
  grid.y *= by.y;
}
extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  int low, high;
  split(cols, low, &high);
  dim3 grid(rows);
  grow(grid, dim3(2, 3));
  int& alias = low;
  alias += 10;
  const int& fixed = rows + 1;
  k<<<grid, 32, 0, stream>>>(x, low, high, fixed);
}
