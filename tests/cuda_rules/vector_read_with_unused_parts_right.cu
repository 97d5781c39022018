// task: relu
// rule: a vector is read of which only the own element is used: what the others are does not matter (PTX ISA 9.0, 8.7.1 "Conflict and data-races")
// status: correct
// gpu: racecheck (racecheck reports reads, used or not)
__global__ void relu_kernel(const float* __restrict__ x, float* __restrict__ y, int n) {
  __shared__ alignas(16) float tile[256];
  const int t = threadIdx.x;
  const int i = blockIdx.x * 256 + t;
  tile[t] = i < n ? x[i] : 0.0f;
  float a, b, c, d;
  const unsigned place = (unsigned)__cvta_generic_to_shared(&tile[t & ~3]);
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "r"(place) : "memory");
  const float own = t % 4 == 0 ? a : t % 4 == 1 ? b : t % 4 == 2 ? c : d;
  if (i < n) y[i] = fmaxf(own, 0.0f);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  relu_kernel<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
