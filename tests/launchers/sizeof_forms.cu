// task: softmax
struct Padded { char c; double d; short s; };
struct alignas(16) Aligned { float v[3]; };
__global__ void k(size_t a, size_t b, size_t c, int d, size_t e, size_t f) {}
extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  double local[5];
  k<<<1, 1, 0, stream>>>(sizeof(Padded), sizeof local, sizeof(x), sizeof(*x) + sizeof(x[0]), alignof(Padded), sizeof(float) * rows);
  k<<<1, 1, 0, stream>>>(sizeof(Aligned), sizeof(rows + 1L), sizeof(char) + sizeof('a'), (int)sizeof(float4), alignof(float4), sizeof(unsigned long long[3]));
}
