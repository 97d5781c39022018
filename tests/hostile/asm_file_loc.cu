__global__ void k(int* x) { asm volatile(".loc 1 99999 7;"); *x = 1; }
