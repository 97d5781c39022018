__global__ void k(int* x) { int Ã( ¡ = 1; *x = 1; }
