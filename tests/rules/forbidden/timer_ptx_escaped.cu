// expect: asm-timer
__global__ void k(long long* y) { asm volatile("mov.u64 %0, %%\x67lobaltimer;" : "=l"(y[0])); }
