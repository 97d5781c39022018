#define NAME "/etc/passwd"
#include NAME
__global__ void k(int* x) { *x = 1; }
