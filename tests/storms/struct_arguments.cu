// task: relu
// storm: four kilobytes of arguments for each of hundreds of launches
// status: timeout|rejected|correct
struct Table {
  float values[1000];
};

__global__ void relu(const float* x, float* y, int n, Table table) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], table.values[i % 1000]);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  Table table{};
  for (int i = 0; i < 200; ++i) relu<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n, table);
}
