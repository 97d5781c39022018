constexpr long spin() {
  long n = 0;
  for (;;) n += 1;
  return n;
}
__global__ void k(long* x) {
  constexpr long value = spin();
  *x = value;
}
