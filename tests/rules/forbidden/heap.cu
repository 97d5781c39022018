// expect: device-malloc
__global__ void k(float** y) { y[threadIdx.x] = new float[1 << 20]; }
