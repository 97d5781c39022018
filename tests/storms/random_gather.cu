// task: relu
// storm: loads from random places of large scratch memory
// status: timeout
__global__ void gather(const int* room, unsigned size, int* out) {
  unsigned place = blockIdx.x * blockDim.x + threadIdx.x;
  int sum = 0;
  for (int k = 0; k < 20000; ++k) {
    place = place * 1664525u + 1013904223u;
    sum += room[place % size];
  }
  if (sum == 1) out[0] = sum;
}

__global__ void relu(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  int* room;
  cudaMallocAsync(&room, 256u << 20, stream);
  cudaMemsetAsync(room, 0, 256u << 20, stream);
  for (int i = 0; i < 100; ++i) gather<<<64, 256, 0, stream>>>(room, 64u << 20, reinterpret_cast<int*>(y));
  cudaFreeAsync(room, stream);
  relu<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
