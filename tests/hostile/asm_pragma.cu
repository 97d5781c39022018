__global__ void k(int* x) { asm volatile(".pragma \"nounroll\";"); *x = 1; }
