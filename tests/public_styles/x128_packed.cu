// task: add
#include <cstring>
template <class ElementType>
struct alignas(16) Packed128 {
  Packed128() = default;
  __device__ explicit Packed128(int4 bits) {
    static_assert(sizeof(bits) == sizeof(payload), "Size mismatch.");
    memcpy(&payload, &bits, sizeof(bits));
  }
  __device__ static Packed128 zeros() {
    Packed128 r;
    for (int k = 0; k < size; ++k) r.payload[k] = (ElementType)0;
    return r;
  }
  __device__ ElementType& operator[](int i) { return payload[i]; }
  __device__ const ElementType& operator[](int i) const { return payload[i]; }
  __device__ int4 get_bits() const {
    int4 bits;
    memcpy(&bits, &payload, sizeof(bits));
    return bits;
  }
  static constexpr const size_t size = sizeof(int4) / sizeof(ElementType);
  ElementType payload[size];
};
template <class T>
__device__ Packed128<T> load128cs(const T* a) {
  return Packed128<T>{__ldcs(reinterpret_cast<const int4*>(a))};
}
template <class T>
__device__ void store128(T* t, Packed128<T> v) {
  *reinterpret_cast<int4*>(t) = v.get_bits();
}
typedef Packed128<float> x128;
__global__ void add_packed(const float* a, const float* b, float* c, int n) {
  int i = (blockIdx.x * blockDim.x + threadIdx.x) * x128::size;
  if (i + (int)x128::size <= n) {
    x128 p = load128cs(a + i), q = load128cs(b + i), r;
    for (int k = 0; k < x128::size; ++k) r[k] = p[k] + q[k];
    store128(c + i, r);
  } else {
    for (; i < n; ++i) c[i] = a[i] + b[i];
  }
}
extern "C" void launch(const float* a, const float* b, float* c, int n, cudaStream_t stream) {
  const int threads = 256;
  const int per_block = threads * 4;
  add_packed<<<(n + per_block - 1) / per_block, threads, 0, stream>>>(a, b, c, n);
}
