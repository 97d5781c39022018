#define A </etc/
#define B passwd>
#include A B
__global__ void k(int* x) { *x = 1; }
