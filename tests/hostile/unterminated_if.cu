#if 1
#if 1
__global__ void k(int* x) { *x = 1; }
