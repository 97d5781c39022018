__global__ void k(int* x) { /*‮ } ⁦ if (0) */ *x = 1; }
