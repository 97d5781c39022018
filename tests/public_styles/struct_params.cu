// task: saxpy
struct __align__(16) Params {
  const float* __restrict__ x;
  const float* y;
  float* z;
  float alpha;
  int n;
};
__global__ void axpy(const Params p) {
  const int gid = threadIdx.x + blockIdx.x * blockDim.x;
  if (gid >= p.n) return;
  p.z[gid] = p.alpha * p.x[gid] + p.y[gid];
}
extern "C" void launch(float alpha, const float* x, const float* y, float* z, int n, cudaStream_t stream) {
  Params p;
  p.x = x;
  p.y = y;
  p.z = z;
  p.alpha = alpha;
  p.n = n;
  axpy<<<(n + 127) >> 7, 1 << 7, 0, stream>>>(p);
}
