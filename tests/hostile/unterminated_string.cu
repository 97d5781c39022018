__global__ void k(int* x) { *x = "never closed; }
