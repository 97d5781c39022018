constexpr long ackermann(long m, long n) {
  return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}
__global__ void k(long* x) {
  constexpr long value = ackermann(4, 3);
  *x = value;
}
