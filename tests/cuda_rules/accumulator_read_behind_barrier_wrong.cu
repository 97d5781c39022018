// task: softmax
// rule: a plain read of a word that others change atomically gets whatever is there (PTX ISA 9.0, 8.7.1 "Conflict and data-races")
// status: race
// kind: shared_race
// gpu: values
__global__ void softmax_kernel(const float* __restrict__ x, float* __restrict__ y, int cols) {
  __shared__ float total;
  const float* in = x + (size_t)blockIdx.x * cols;
  float top = -INFINITY;
  for (int c = 0; c < cols; ++c) top = fmaxf(top, in[c]);
  if (threadIdx.x == 0) total = 0.0f;
  __syncthreads();
  float sum = 0.0f;
  for (int c = threadIdx.x; c < cols; c += 128) sum += expf(in[c] - top);
  int* word = (int*)&total;
  int old = *word, assumed;
  do {
    assumed = old;
    old = atomicCAS(word, assumed, __float_as_int(sum + __int_as_float(assumed)));
  } while (assumed != old);
  const float scale = 1.0f / total;
  for (int c = threadIdx.x; c < cols; c += 128) y[(size_t)blockIdx.x * cols + c] = expf(in[c] - top) * scale;
}

extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  softmax_kernel<<<rows, 128, 0, stream>>>(x, y, cols);
}
