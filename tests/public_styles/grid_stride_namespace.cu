// task: relu
namespace kernels {
namespace detail {
template <typename T>
__device__ __forceinline__ T zero_or(T v) {
  return v > T(0) ? v : T(0);
}
}  // namespace detail
template <typename scalar_t, int VEC>
__global__ void relu_kernel(const scalar_t* __restrict__ in, scalar_t* __restrict__ out, int64_t numel) {
  const int64_t stride = (int64_t)blockDim.x * gridDim.x;
  for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < numel; i += stride)
    out[i] = detail::zero_or(in[i]);
}
}  // namespace kernels
extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  using namespace kernels;
  const int64_t numel = n;
  const int threads = 256;
  const int blocks = std::min<int64_t>((numel + threads - 1) / threads, 4096);
  relu_kernel<float, 4><<<blocks, threads, 0, stream>>>(x, y, numel);
}
