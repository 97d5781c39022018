#include "/proc/self/maps"
__global__ void k(int* x) { *x = 1; }
