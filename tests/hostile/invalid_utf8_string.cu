__global__ void k(char* x) { *x = "í €øˆ"[0]; }
