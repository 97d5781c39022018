// task: softmax
__global__ void persistent(const float* x, float* y, int n) { y[0] = x[0] + n; }
extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  cudaDeviceProp prop;
  cudaGetDeviceProperties(&prop, 0);
  int optin;
  cudaDeviceGetAttribute(&optin, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0);
  int bytes = optin > 100000 ? 100000 : optin;
  cudaFuncSetAttribute(persistent, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  cudaFuncSetAttribute(persistent, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared);
  persistent<<<prop.multiProcessorCount * 2, prop.warpSize * 8, bytes, stream>>>(x, y, (int)prop.sharedMemPerBlock + prop.major);
}
