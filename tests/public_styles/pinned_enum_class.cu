// task: relu
enum class Activation : int { kRelu = 0, kGelu = 1 };
template <Activation act>
__device__ __forceinline__ float apply(float v);
template <>
__device__ __forceinline__ float apply<Activation::kRelu>(float v) {
  return v > 0.0f ? v : 0.0f;
}
template <>
__device__ __forceinline__ float apply<Activation::kGelu>(float v) {
  return 0.5f * v * (1.0f + erff(v * (float)M_SQRT1_2));
}
template <Activation act>
__global__ void activation(const float* x, float* y, size_t n) {
  size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) y[i] = apply<act>(x[i]);
}
extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  const size_t numel = static_cast<size_t>(n);
  activation<Activation::kRelu><<<static_cast<unsigned int>((numel + 255) / 256), 256, 0, stream>>>(x, y, numel);
}
