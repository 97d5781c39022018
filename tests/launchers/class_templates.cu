// task: softmax
template <int M, int N, typename T>
struct Tile {
  static constexpr int rows = M;
  static constexpr int cols = N;
  static constexpr int threads = M * N / 4;
  static constexpr size_t bytes = sizeof(T) * M * N;
  using Element = T;
  enum { kStages = 2 };
};
template <class C>
struct Traits { static constexpr int pad = 0; };
template <>
struct Traits<float> { static constexpr int pad = 4; };
template <class Config>
__global__ void tiled(const typename Config::Element* x, typename Config::Element* y) { y[0] = x[0] + Config::rows; }
using Small = Tile<16, 16, float>;
typedef Tile<32, 64, float> Large;
template <class Config>
void run(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  dim3 grid((cols + Config::cols - 1) / Config::cols, (rows + Config::rows - 1) / Config::rows);
  tiled<Config><<<grid, Config::threads, Config::bytes * Config::kStages + Traits<typename Config::Element>::pad, stream>>>(x, y);
}
extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  if (rows < 32)
    run<Small>(x, y, rows, cols, stream);
  else
    run<Large>(x, y, rows, cols, stream);
  tiled<Small><<<Traits<int>::pad + 1, Large::threads, 0, stream>>>(x, y);
}
