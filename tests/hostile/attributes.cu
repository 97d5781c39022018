__attribute__((section("/etc/passwd"), constructor, alias("main"))) __device__ int f() { return 1; }
__attribute__((target("arch=native"), optimize("O0"))) __global__ void k(int* x) { *x = 1; }
