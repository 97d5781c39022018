// task: add
struct Tensors {
  const float* in[2];
  float* out;
};
__global__ void addk(Tensors t, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float s = 0;
#pragma unroll
    for (int k = 0; k < 2; k++) s += t.in[k][i];
    t.out[i] = s;
  }
}
extern "C" void launch(const float* a, const float* b, float* c, int n, cudaStream_t stream) {
  Tensors t;
  t.in[0] = a;
  t.in[1] = b;
  t.out = c;
  addk<<<(n + 255) / 256, 256, 0, stream>>>(t, n);
}
