// task: softmax
__global__ void values(unsigned a, unsigned b, unsigned long long c, long long d, int e, unsigned char f, short g) {}
extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  unsigned a = 3u - static_cast<unsigned>(rows);
  unsigned b = ~0u << 3 ^ (cols * 2654435761u);
  unsigned long long c = (unsigned long long)a * b + 0xFFFFFFFFFFFFFFFFull;
  long long d = -rows * 1LL << 0;
  int e = (int)(a >> 5) - (-7 / 2) + (-7 % 3);
  unsigned char f = rows * cols + 300;
  short g = (short)(rows * 40000);
  values<<<1, 1, 0, stream>>>(a, b, c, d, e, f, g);
  values<<<1, 1, 0, stream>>>(rows - cols, -1 > 1u, rows < cols ? -1 : 1u, a, a, 255 + 1, 'z');
}
