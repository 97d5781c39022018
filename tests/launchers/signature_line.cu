// signature: const float* a, const int* index, unsigned char* mask, double* out, int n, int m
__global__ void k(const float* a, const int* index, unsigned char* mask, double* out, int n) {}
extern "C" void launch(const float* a, const int* index, unsigned char* mask, double* out, int n, int m, cudaStream_t stream) {
  cudaMemsetAsync(mask, 1, n * m, stream);
  k<<<n, 32, 0, stream>>>(a + m, index + 2 * m, mask + 3, out + n, m);
}
