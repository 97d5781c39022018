// task: row_sum
template <class T>
struct SharedMemory {
  __device__ inline operator T*() {
    extern __shared__ int __smem[];
    return (T*)__smem;
  }
  __device__ inline operator const T*() const {
    extern __shared__ int __smem[];
    return (T*)__smem;
  }
};
template <class T>
__global__ void reduce(const T* g, T* o, unsigned int n) {
  T* sdata = SharedMemory<T>();
  unsigned int tid = threadIdx.x;
  T v = 0;
  for (unsigned i = tid; i < n; i += blockDim.x) v += g[blockIdx.x * n + i];
  sdata[tid] = v;
  __syncthreads();
  for (unsigned int s = blockDim.x / 2; s > 0; s >>= 1) {
    if (tid < s) sdata[tid] += sdata[tid + s];
    __syncthreads();
  }
  if (tid == 0) o[blockIdx.x] = sdata[0];
}
extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  int threads = 128;
  int smemSize = (threads <= 32) ? 2 * threads * sizeof(float) : threads * sizeof(float);
  dim3 dimBlock(threads, 1, 1);
  dim3 dimGrid(rows, 1, 1);
  reduce<float><<<dimGrid, dimBlock, smemSize, stream>>>(x, y, cols);
}
