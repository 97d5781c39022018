__constant__ char text[] = R"x(never closed
__global__ void k(int* x) { *x = 1; }
