// task: scale_shift_i32
__global__ void k(const int* x, int* y, int a, long b) {}
extern "C" void launch(const int* x, int scale, int shift, int* y, int n, cudaStream_t stream) {
  k<<<(n + 31) / 32, 32, 0, stream>>>(x, y, scale * 3 - shift, (long)scale << 33);
}
