// task: softmax
template <int THREADS>
__global__ void row(const float* x, float* y, int cols) { y[0] = x[0] + THREADS + cols; }
extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  int bucket = 0;
  for (int n = cols; n > 32; n >>= 1) ++bucket;
  switch (bucket) {
    case 0:
      row<32><<<rows, 32, 0, stream>>>(x, y, cols);
      break;
    case 1:
    case 2:
      row<64><<<rows, 64, 0, stream>>>(x, y, cols);
      [[fallthrough]];
    case 3: {
      const int threads = 128;
      row<threads><<<rows, threads, 0, stream>>>(x, y, cols);
      break;
    }
    default:
      row<256><<<rows, 256, 0, stream>>>(x, y, cols);
  }
}
