// expect: fabricated-pointer
__global__ void k(float* y) { y[0] = *(const float*)0x7fff00000000ull; }
