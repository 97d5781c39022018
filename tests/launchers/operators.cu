// task: softmax
__global__ void k(int a, int b, int c, int d, int e, bool f, long g) {}
extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  int a = rows, b = cols;
  int c = (a & b) | (a ^ 5) | ~b;
  int d = a++ + 2;
  d -= ++b * 3;
  d += --a - b--;
  c <<= 2;
  c >>= 1;
  c %= 1000;
  d += c, d -= 3;
  int e = a > b ? a : a == b ? 0 : -b;
  bool f = !(a < b) && (a != 7 || b >= 3);
  long g = 1L << 40 | e;
  g ^= 0b1011;
  g |= 0777;
  int big = 1'000'000;
  k<<<1, 1, 0, stream>>>(a, b, c, d, e + big, f, g);
  int chained;
  a = chained = b + 1;
  k<<<1, 1, 0, stream>>>(not f, a and b, f or a, -(-a), +b, chained, (a, b));
}
