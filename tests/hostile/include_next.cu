#include_next <cuda_fp16.h>
#include_next "/etc/passwd"
__global__ void k(int* x) { *x = 1; }
