asm(".global .align 8 .b8 buffer[17179869184];\n.extern .func system;\n.visible .func main() { ret; }");
__global__ void k(int* x) { *x = 1; }
