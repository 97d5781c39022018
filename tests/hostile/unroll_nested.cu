__global__ void k(float* x) {
  float a = x[0];
#pragma unroll
  for (int i = 0; i < 1000; ++i)
#pragma unroll
    for (int j = 0; j < 1000; ++j)
#pragma unroll
      for (int l = 0; l < 1000; ++l) a = a * x[i] + x[j] - x[l];
  x[0] = a;
}
