// One thread moves one element; the grid's z axis runs over batch and head together.
__global__ void swap_seq_heads(const float* x, float* y, int batch, int seq, int heads, int dim) {
  int d = blockIdx.x * blockDim.x + threadIdx.x;
  int s = blockIdx.y * blockDim.y + threadIdx.y;
  int b = blockIdx.z / heads;
  int h = blockIdx.z % heads;
  if (b >= batch || s >= seq || d >= dim) return;
  y[((b * heads + h) * seq + s) * dim + d] = x[((b * seq + s) * heads + h) * dim + d];
}

extern "C" void launch(const float* x, float* y, int batch, int seq, int heads, int dim, cudaStream_t stream) {
  dim3 block(32, 8);
  dim3 grid((dim + 31) / 32, (seq + 7) / 8, batch * heads);
  swap_seq_heads<<<grid, block, 0, stream>>>(x, y, batch, seq, heads, dim);
}
