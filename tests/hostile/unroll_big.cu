__global__ void k(float* x) {
  float a = x[0];
#pragma unroll 100000
  for (int i = 0; i < 100000; ++i) a = a * x[i] + x[i ^ 5];
  x[0] = a;
}
