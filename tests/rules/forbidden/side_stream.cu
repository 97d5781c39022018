// expect: side-stream
__global__ void k(float* y) { y[0] = 1; }
extern "C" void launch(float* y, cudaStream_t stream) {
  cudaStream_t hidden;
  cudaStreamCreateWithFlags(&hidden, cudaStreamNonBlocking);
  k<<<1, 32, 0, hidden>>>(y);
}
