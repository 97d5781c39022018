// task: softmax
namespace {
constexpr int kThreads = 96;
__global__ void hidden(const float* x, float* y, int n) { y[0] = x[0] + n; }
template <int N>
__global__ void hidden_too(float* y) { y[0] = N; }
int grid_for(int n) { return n / kThreads + (n % kThreads != 0); }
}  // namespace
extern "C" {
void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  hidden<<<grid_for(rows * cols), kThreads, 0, stream>>>(x, y, cols);
  hidden_too<kThreads><<<1, kThreads, 0, stream>>>(y);
}
}
