// task: softmax
__global__ void part(const float* x, float* y, int n) { y[0] = x[0] + n; }
extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  const int threads = 64;
  int calls = 0;
  auto blocks = [](int n, int t) { return (n + t - 1) / t; };
  auto go = [&](int first, int count) {
    if (count <= 0) return;
    ++calls;
    part<<<blocks(count, threads), threads, 0, stream>>>(x + first, y + first, count);
  };
  auto frozen = [=]() -> long { return calls + 100; };
  go(0, rows * cols / 2);
  go(rows * cols / 2, rows * cols - rows * cols / 2);
  go(0, -1);
  part<<<1, threads, 0, stream>>>(x, y, calls * 1000 + static_cast<int>(frozen()));
}
