// task: softmax
template <int N>
__global__ void big(const float* x, float* y) { y[0] = x[0] + N; }
extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  constexpr int bytes = 64 * 1024;
  cudaFuncSetAttribute(big<1>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  cudaFuncSetAttribute((const void*)big<2>, cudaFuncAttributeMaxDynamicSharedMemorySize, 2 * bytes);
  cudaFuncSetCacheConfig(big<1>, cudaFuncCachePreferShared);
  big<1><<<rows, 256, bytes, stream>>>(x, y);
  big<2><<<rows, 256, bytes + cols, stream>>>(x, y);
}
