// task: softmax
__global__ void grid_wide(const float* x, float* y, int n) { y[0] = x[0] + n; }
extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  int device = 0, sms = 0, per_sm = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, grid_wide, 256, 1024);
  int n = rows * cols;
  void* args[] = {&x, &y, &n};
  dim3 grid(sms * per_sm), block(256);
  cudaLaunchCooperativeKernel((void*)grid_wide, grid, block, args, 1024, stream);
}
