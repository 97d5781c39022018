// task: relu
// rule: an access of 16 bytes needs an address that is a multiple of 16, and an array of floats is a multiple of 4 only (CUDA C++ Programming Guide, "Size and Alignment Requirement")
// status: correct
// gpu: values
// The second array begins behind 33 floats.
__global__ void relu_kernel(const float* __restrict__ x, float* __restrict__ y, int n) {
  __shared__ float edge[33];
  __shared__ __align__(16) float tile[256];
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (threadIdx.x < 33) edge[threadIdx.x] = 0.0f;
  tile[threadIdx.x] = i < n ? x[i] : 0.0f;
  __syncthreads();
  if (threadIdx.x < 64) {
    float4 four = reinterpret_cast<const float4*>(tile)[threadIdx.x];
    const float low = edge[threadIdx.x % 33];
    four = make_float4(fmaxf(four.x, low), fmaxf(four.y, low), fmaxf(four.z, low), fmaxf(four.w, low));
    const int first = blockIdx.x * 256 + threadIdx.x * 4;
    const float values[4] = {four.x, four.y, four.z, four.w};
    for (int k = 0; k < 4; ++k)
      if (first + k < n) y[first + k] = values[k];
  }
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  relu_kernel<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
