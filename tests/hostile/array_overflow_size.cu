__global__ void k(int* x) {
  __shared__ int s[0x7fffffffffffffff];
  s[0] = 1;
  *x = s[1];
}
