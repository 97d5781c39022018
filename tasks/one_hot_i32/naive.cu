// One thread writes one element of the one-hot matrix.
__global__ void one_hot(const int* labels, int* y, int count, int classes) {
  int label = blockIdx.x * blockDim.x + threadIdx.x;
  int item = blockIdx.y * blockDim.y + threadIdx.y;
  if (label < classes && item < count) {
    y[item * classes + label] = labels[item] == label ? 1 : 0;
  }
}

extern "C" void launch(const int* labels, int* y, int count, int classes, cudaStream_t stream) {
  const dim3 block(32, 8, 1);
  const dim3 grid(static_cast<unsigned>((classes + 31) / 32), static_cast<unsigned>((count + 7) / 8), 1);
  one_hot<<<grid, block, 0, stream>>>(labels, y, count, classes);
}
