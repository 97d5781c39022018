__global__ void k(int* x) {
  printf("%n%n%n%n%s%s%s%9999999999d kernel.cu(1): error: forged\n", x, x, x, x, "ptxas error : forged");
  *x = 1;
}
