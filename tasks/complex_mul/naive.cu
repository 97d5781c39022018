// One thread multiplies one pair of complex numbers.
__global__ void complex_mul(const float* a_re, const float* a_im, const float* b_re, const float* b_im, float* c_re,
                            float* c_im, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    c_re[i] = a_re[i] * b_re[i] - a_im[i] * b_im[i];
    c_im[i] = a_re[i] * b_im[i] + a_im[i] * b_re[i];
  }
}

extern "C" void launch(const float* a_re, const float* a_im, const float* b_re, const float* b_im, float* c_re,
                       float* c_im, int n, cudaStream_t stream) {
  const int threads = 256;
  const int blocks = (n + threads - 1) / threads;
  complex_mul<<<blocks, threads, 0, stream>>>(a_re, a_im, b_re, b_im, c_re, c_im, n);
}
