__global__ void k(int* x) {
  asm volatile("mov.u32 %0, %99;" : "=r"(x[0]) : "r"(1));
  asm volatile("{{{{{{{{" ::: "memory");
  asm volatile("%%%%%0%1%2%3 $$$ {|} \0 hidden" : "+l"(x));
}
