// task: relu
#define CEIL_DIV(M, N) (((M) + (N) - 1) / (N))
typedef unsigned char uchar;
__global__ void __launch_bounds__(256) relu(const float* __restrict__ x, float* __restrict__ y, uint n) {
  const uint i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] > 0 ? x[i] : 0;
}
extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  const uint N = n;
  dim3 gridDim(CEIL_DIV(N, 256));
  dim3 blockDim(256);
  relu<<<gridDim, blockDim, 0, stream>>>(x, y, N);
}
