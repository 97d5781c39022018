// task: one_hot_i32
// bug: only the ones are written; the zeros between them are left to chance
// kind: unwritten_output
// status: wrong
__global__ void one_hot_kernel(const int* __restrict__ labels, int* __restrict__ y, int count, int classes) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[(size_t)i * classes + labels[i]] = 1;  // BUG
}

extern "C" void launch(const int* labels, int* y, int count, int classes, cudaStream_t stream) {
  one_hot_kernel<<<(count + 63) / 64, 64, 0, stream>>>(labels, y, count, classes);  // BUG
}
