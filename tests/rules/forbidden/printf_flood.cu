// expect: device-printf
__global__ void k(float* y) { while (true) y[0] += printf("%f\n", y[0]); }
