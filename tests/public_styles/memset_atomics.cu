// task: full_sum
__inline__ __device__ float warpReduceSum(float val) {
  for (int offset = warpSize / 2; offset > 0; offset /= 2) val += __shfl_down_sync(0xFFFFFFFF, val, offset);
  return val;
}
__inline__ __device__ float blockReduceSum(float val) {
  static __shared__ float shared[32];
  int lane = threadIdx.x % warpSize;
  int wid = threadIdx.x / warpSize;
  val = warpReduceSum(val);
  if (lane == 0) shared[wid] = val;
  __syncthreads();
  val = (threadIdx.x < blockDim.x / warpSize) ? shared[lane] : 0;
  if (wid == 0) val = warpReduceSum(val);
  return val;
}
__global__ void deviceReduce(const float* in, float* out, int N) {
  float sum = 0.0f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < N; i += blockDim.x * gridDim.x) sum += in[i];
  sum = blockReduceSum(sum);
  if (threadIdx.x == 0) atomicAdd(out, sum);
}
extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  cudaMemsetAsync(y, 0, sizeof(float), stream);
  int threads = 512;
  int blocks = min((n + threads - 1) / threads, 1024);
  deviceReduce<<<blocks, threads, 0, stream>>>(x, y, n);
}
