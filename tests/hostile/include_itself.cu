#include __FILE__
__global__ void k(int* x) { *x = 1; }
