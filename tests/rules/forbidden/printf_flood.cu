// expect: device-printf
__global__ void k(float* y) { while (true) printf("%f\n", y[0]); }
