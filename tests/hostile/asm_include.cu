__global__ void k(int* x) { asm volatile(".include \"/etc/passwd\"\n\t.file 1 \"/etc/passwd\"\n"); *x = 1; }
