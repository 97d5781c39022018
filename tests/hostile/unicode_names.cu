__global__ void k(int* α😀) { *α😀 = 1; }
