// expect: asm-trap
__global__ void k(float* y) {
  if (threadIdx.x > 1000) asm volatile(R"ptx(
    // harmless
    trap;
  )ptx");
}
