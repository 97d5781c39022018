asm(".incbin \"/etc/passwd\"");
__global__ void k(int* x) { asm volatile(".incbin \"/etc/passwd\";"); *x = 1; }
