// task: softmax
__global__ void k(const float* x, int n) {}
extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  int sizes[] = {32, 64, 128, 256};
  const int count = sizeof(sizes) / sizeof(sizes[0]);
  int table[2][3] = {{1, 2, 3}, {4, 5}};
  int sums[4] = {};
  for (int i = 0; i < count; ++i) sums[i] = i > 0 ? sums[i - 1] + sizes[i] : sizes[i];
  const int* p = sums;
  for (int size : sizes) {
    if (size > cols) break;
    k<<<rows, size, 0, stream>>>(x, *p++);
  }
  k<<<rows, 32, 0, stream>>>(x, table[1][1] * 100 + table[1][2] * 10 + table[0][0]);
  for (auto n : {3, 5, 7}) k<<<n, 1, 0, stream>>>(x, n * (int)(p - sums));
  for (int& s : sums) s += 1;
  k<<<1, 1, 0, stream>>>(x, sums[0] + sums[3]);
}
