// task: relu
template <typename F>
__global__ void map_kernel(const float* x, float* y, int n, F f) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = f(x[i]);
}
struct Relu {
  float slope;
  __device__ float operator()(float v) const { return v > 0 ? v : slope * v; }
};
extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  int sms = 0;
  cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
  map_kernel<<<sms * 4, 256, 0, stream>>>(x, y, n, Relu{0.0f});
}
