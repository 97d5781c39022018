// expect: macro-name
#define __global__ __attribute__((weak)) __device__
