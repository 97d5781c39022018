#include "/proc/self/fd/3"
__global__ void k(int* x) { *x = 1; }
