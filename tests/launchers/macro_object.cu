// task: softmax
#define THREADS 256
#define BLOCKS(n) (((n) + THREADS - 1) / THREADS)
#define GRID_STRIDE
__global__ void scale(const float* x, float* y, int n) { y[0] = x[0] * n; }
extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  scale<<<BLOCKS(rows * cols), THREADS, 0, stream>>>(x, y, rows * cols);
#ifdef GRID_STRIDE
  scale<<<BLOCKS(rows), THREADS / 2, 0, stream>>>(x, y, rows);
#else
  scale<<<1, 1, 0, stream>>>(x, y, 0);
#endif
#if THREADS > 512 || !defined(BLOCKS)
  scale<<<7, 7, 0, stream>>>(x, y, 7);
#elif THREADS == 256 && (1 << 3) == 8
  scale<<<3, 3, 0, stream>>>(x, y, 3);
#endif
}
