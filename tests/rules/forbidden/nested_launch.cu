// expect: dynamic-parallelism
__global__ void child(float* y) { y[0] = 1; }
__global__ void k(float* y) { child<<<1, 1>>>(y); }
