// a comment with ÿþ
__global__ void k(int* x) { *x = 1; }
