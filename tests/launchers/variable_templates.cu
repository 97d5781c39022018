// task: softmax
template <typename T> constexpr int vector_width = 16 / sizeof(T);
template <int... > struct unused_pack {};
const int kRows = 4, kCols = kRows * 2;
static const float kScale = 0.125f;
constexpr float kTable[3] = {1.0f, 2.0f, 4.0f};
constexpr dim3 kBlock(16, 2);
template <int V> __global__ void k(const float* x, float s, int n) {}
extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  k<vector_width<float>><<<rows, kBlock, 0, stream>>>(x, kScale * kTable[2], kCols);
  k<vector_width<double>><<<rows, kBlock.x * 2, 0, stream>>>(x, kTable[rows % 3], kRows);
}
