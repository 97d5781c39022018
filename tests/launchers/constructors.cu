// task: softmax
class Grid {
 public:
  Grid(int n, int t = 64) : threads_(t), blocks_((n + t - 1) / t) { total_ = threads_ * blocks_; }
  int threads() const { return threads_; }
  int blocks() const { return blocks_; }
  int total() const { return this->total_; }
 private:
  int threads_;
  int blocks_;
  int total_ = 0;
};
__global__ void k(const float* x, int n) {}
extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  Grid a(rows * cols);
  Grid b{cols, 32};
  k<<<a.blocks(), a.threads(), 0, stream>>>(x, a.total());
  k<<<b.blocks(), b.threads(), 0, stream>>>(x, Grid(7, 2).total());
}
