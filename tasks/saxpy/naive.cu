// One thread computes one element of the sum.
__global__ void saxpy(float alpha, const float* x, const float* y, float* z, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = alpha * x[i] + y[i];
}

extern "C" void launch(float alpha, const float* x, const float* y, float* z, int n, cudaStream_t stream) {
  const unsigned threads = 256u;
  const unsigned blocks = (static_cast<unsigned>(n) + threads - 1u) / threads;
  saxpy<<<blocks, threads, 0, stream>>>(alpha, x, y, z, n);
}
