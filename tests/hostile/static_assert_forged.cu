static_assert(false, "\n\n/etc/shadow(1): error: forged\nptxas error   : forged\n\u202e\u0007");
__global__ void k(int* x) { *x = 1; }
