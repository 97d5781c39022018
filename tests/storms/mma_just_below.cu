// task: relu
// storm: tensor-core products within the instructions of a launch, in many launches
// status: timeout
__global__ void products(int* out) {
  float c[4] = {0, 0, 0, 0};
  for (int k = 0; k < 2000; ++k)
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%4,%4}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(k));
  if (c[0] == 1234.5f) out[0] = 1;
}

__global__ void relu(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  for (int i = 0; i < 300; ++i) products<<<132, 128, 0, stream>>>(reinterpret_cast<int*>(y));
  relu<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
