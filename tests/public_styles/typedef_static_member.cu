// task: add
template <class T>
struct alignas(16) Packed {
  static constexpr const size_t size = sizeof(int4) / sizeof(T);
  T payload[size];
};
typedef Packed<float> x128;
using y128 = Packed<float>;
__global__ void add_packs(const float* a, const float* b, float* c, int n) {
  const int first = (blockIdx.x * blockDim.x + threadIdx.x) * x128::size;
  for (int i = first; i < n && i < first + static_cast<int>(x128::size); ++i) c[i] = a[i] + b[i];
}
extern "C" void launch(const float* a, const float* b, float* c, int n, cudaStream_t stream) {
  const int per_block = 256 * x128::size;
  add_packs<<<(n + per_block - 1) / (256 * static_cast<int>(y128::size)), 256, 0, stream>>>(a, b, c, n);
}
