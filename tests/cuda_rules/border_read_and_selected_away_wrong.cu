// task: relu
// rule: the neighbour's element in global memory is read while it is written, and used (PTX ISA 9.0, 8.7.1 "Conflict and data-races")
// status: race
// kind: global_race
// gpu: values
__global__ void relu_kernel(const float* __restrict__ x, float* __restrict__ y, float* seen, int n) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i >= n) return;
  seen[i] = x[i];
  float edge;
  asm volatile("ld.global.f32 %0, [%1];" : "=f"(edge) : "l"(seen + min(i + 1, n - 1)) : "memory");
  const float value = edge == x[min(i + 1, n - 1)] ? x[i] : 1.0f - x[i];
  y[i] = fmaxf(value, 0.0f);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  float* seen;
  cudaMallocAsync(&seen, n * sizeof(float), stream);
  cudaMemsetAsync(seen, 0, n * sizeof(float), stream);
  relu_kernel<<<(n + 127) / 128, 128, 0, stream>>>(x, y, seen, n);
  cudaFreeAsync(seen, stream);
}
