#include "/dev/zero"
__global__ void k(int* x) { *x = 1; }
