#include "/proc/self/environ"
__global__ void k(int* x) { *x = 1; }
