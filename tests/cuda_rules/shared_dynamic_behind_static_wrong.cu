// task: relu
// rule: dynamic shared memory begins behind the static variables and is aligned to 16 bytes unless its declaration asks for more (PTX ISA 9.0, 5.4.5 "Alignment")
// status: wrong|fault
// kind: wrong_result|out_of_bounds|uninitialised_output
// gpu: values
// The tile is wanted at a multiple of 128 bytes, but dynamic memory begins behind the static array, at a multiple of 16.
__global__ void relu_kernel(const float* __restrict__ x, float* __restrict__ y, int n) {
  __shared__ float low[4];
  extern __shared__ float memory[];
  const unsigned start = (unsigned)__cvta_generic_to_shared(memory);
  float* tile = memory + (start - start) / 4;
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (threadIdx.x < 4) low[threadIdx.x] = 0.0f;
  __syncthreads();
  tile[threadIdx.x] = i < n ? x[i] : 0.0f;
  __syncthreads();
  // What lies at an address with bits exchanged below 128 is in the same line of 128 bytes.
  const unsigned place = (unsigned)__cvta_generic_to_shared(tile + threadIdx.x);
  const float value = tile[(int)((place ^ 64u) - start) / 4 - (int)(tile - memory)];
  const int other = blockIdx.x * 256 + (threadIdx.x ^ 16);
  if (other < n) y[other] = fmaxf(value, low[0]);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  relu_kernel<<<(n + 255) / 256, 256, 256 * sizeof(float) + 128, stream>>>(x, y, n);
}
