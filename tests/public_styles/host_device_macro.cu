// task: saxpy
#pragma once
#ifdef __CUDACC__
#define HD __host__ __device__
#else
#define HD
#endif
HD inline float madd(float a, float b, float c) { return a * b + c; }
#if __CUDA_ARCH__ >= 800
#define FAST 1
#endif
__global__ void k(float a, const float* x, const float* y, float* z, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = madd(a, x[i], y[i]);
}
extern "C" void launch(float alpha, const float* x, const float* y, float* z, int n, cudaStream_t stream) {
  k<<<(n + 255) / 256, 256, 0, stream>>>(alpha, x, y, z, n);
}
