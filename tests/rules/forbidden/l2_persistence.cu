// expect: l2-persistence
__global__ void k(const float* x, float* y) {
  asm volatile("ld.global.L1::no_allocate.L2::evict_last.f32 %0, [%1];" : "=f"(y[0]) : "l"(x));
}
