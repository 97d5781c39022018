// task: relu
__global__ void relu(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.f);
}
static void run(const float* d_in, float* d_out, const int numel, cudaStream_t s = 0) {
  const int tpb = 256;
  relu<<<(numel + tpb - 1) / tpb, tpb, 0, s>>>(d_in, d_out, numel);
}
extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) { run(x, y, n, stream); }
