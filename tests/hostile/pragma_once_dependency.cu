#pragma GCC dependency "/etc/passwd"
#pragma include_alias("cuda_fp16.h", "/etc/passwd")
#pragma comment(lib, "/etc/passwd")
#include <cuda_fp16.h>
__global__ void k(int* x) { *x = 1; }
