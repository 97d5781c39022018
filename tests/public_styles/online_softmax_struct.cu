// task: softmax
struct SumMax {
  float maxval;
  float sum;
};
__device__ __forceinline__ SumMax reduce_sum_max_op(SumMax a, SumMax b) {
  bool a_bigger = (a.maxval > b.maxval);
  SumMax bigger = a_bigger ? a : b;
  SumMax smaller = a_bigger ? b : a;
  SumMax res;
  res.maxval = bigger.maxval;
  res.sum = bigger.sum + smaller.sum * expf(smaller.maxval - bigger.maxval);
  return res;
}
__global__ void softmax_online(const float* inp, float* out, int C) {
  __shared__ SumMax s[256];
  const float* x = inp + (size_t)blockIdx.x * C;
  SumMax v{-3.0e38f, 0.f};
  for (int i = threadIdx.x; i < C; i += blockDim.x) v = reduce_sum_max_op(v, {x[i], 1.0f});
  s[threadIdx.x] = v;
  __syncthreads();
  for (int o = blockDim.x / 2; o > 0; o >>= 1) {
    if (threadIdx.x < o) s[threadIdx.x] = reduce_sum_max_op(s[threadIdx.x], s[threadIdx.x + o]);
    __syncthreads();
  }
  v = s[0];
  for (int i = threadIdx.x; i < C; i += blockDim.x) out[(size_t)blockIdx.x * C + i] = expf(x[i] - v.maxval) / v.sum;
}
extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  softmax_online<<<rows, 256, 0, stream>>>(x, y, cols);
}
