// task: softmax
struct Config {
  int threads = 128;
  int per_thread{4};
  bool wide = false;
  int tile() const { return threads * per_thread; }
  static int clamp(int n) { return n > 1000 ? 1000 : n; }
};
__global__ void k(const float* x, float* y, int tile, int clamped, bool wide) { y[0] = x[0] + tile + clamped + wide; }
static Config choose(int cols) {
  Config c;
  if (cols > 200) {
    c.threads = 256;
    c.wide = true;
  }
  return c;
}
extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  Config c = choose(cols);
  Config d{64, 2};
  Config e = {32};
  e.per_thread++;
  k<<<rows, c.threads, 0, stream>>>(x, y, c.tile(), Config::clamp(rows * cols), c.wide);
  k<<<rows, d.threads, 0, stream>>>(x, y, d.tile(), d.per_thread, d.wide);
  k<<<rows, e.threads, 0, stream>>>(x, y, e.tile(), e.per_thread, !e.wide);
}
