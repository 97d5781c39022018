// task: add
#include <type_traits>
template <typename T, typename std::enable_if<std::is_floating_point<T>::value, int>::type = 0>
__device__ T sum(T a, T b) { return a + b; }
template <typename T, std::enable_if_t<!std::is_floating_point<T>::value, int> = 0>
__device__ T sum(T a, T b) { return b + a; }
template <typename T>
__global__ void add_values(const T* a, const T* b, T* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = sum(a[i], b[i]);
}
template <typename T>
typename std::enable_if<std::is_same<T, float>::value, void>::type run(const T* a, const T* b, T* c, int n,
                                                                       cudaStream_t stream) {
  add_values<T><<<(n + 255) / 256, 256, 0, stream>>>(a, b, c, n);
}
template <typename T>
std::enable_if_t<!std::is_same<T, float>::value> run(const T* a, const T* b, T* c, int n, cudaStream_t stream) {
  add_values<T><<<(n + 127) / 128, 128, 0, stream>>>(a, b, c, n);
}
extern "C" void launch(const float* a, const float* b, float* c, int n, cudaStream_t stream) {
  run<float>(a, b, c, n, stream);
}
