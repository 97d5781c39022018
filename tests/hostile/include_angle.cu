#include </etc/passwd>
__global__ void k(int* x) { *x = 1; }
