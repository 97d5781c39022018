// task: saxpy
__global__ void k(float alpha, double scaled, const float* x, float* z, int n) {}
extern "C" void launch(float alpha, const float* x, const float* y, float* z, int n, cudaStream_t stream) {
  double scaled = alpha * 0.1 + n;
  if (alpha != 0) k<<<(n + 127) / 128, 128, 0, stream>>>(alpha, scaled, x, z, n);
  k<<<1, 32, 0, stream>>>(alpha * alpha, alpha / 3, y, z, (int)(alpha * 7));
}
