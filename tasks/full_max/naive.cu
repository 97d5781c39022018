// One thread searches a run of neighbouring elements.
__global__ void chunk_max(const float* x, float* best, int n, int chunk) {
  int part = blockIdx.x * blockDim.x + threadIdx.x;
  int first = part * chunk;
  if (first >= n) return;
  int last = first + chunk < n ? first + chunk : n;
  float value = x[first];
  for (int i = first + 1; i < last; ++i) value = fmaxf(value, x[i]);
  best[part] = value;
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  constexpr int chunk = 4096;
  constexpr int threads = 64;
  const int parts = (n + chunk - 1) / chunk;
  float* scratch = nullptr;
  cudaMallocAsync(&scratch, static_cast<size_t>(parts) * sizeof(float), stream);
  chunk_max<<<(parts + threads - 1) / threads, threads, 0, stream>>>(x, scratch, n, chunk);
  chunk_max<<<1, 1, 0, stream>>>(scratch, y, parts, parts);
  cudaFreeAsync(scratch, stream);
}
