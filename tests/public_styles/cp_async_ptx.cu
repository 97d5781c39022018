// task: matmul
#include <cstdint>
__device__ __forceinline__ void cp_async4(void* smem, const void* g, bool p) {
  uint32_t s = static_cast<uint32_t>(__cvta_generic_to_shared(smem));
  int bytes = p ? 4 : 0;
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;\n" ::"r"(s), "l"(g), "r"(bytes));
}
#define CP_ASYNC_COMMIT() asm volatile("cp.async.commit_group;\n" ::)
#define CP_ASYNC_WAIT(n) asm volatile("cp.async.wait_group %0;\n" ::"n"(n))
__global__ void mm(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, int M, int K,
                   int N) {
  __shared__ float As[2][16][16], Bs[2][16][16];
  int tx = threadIdx.x, ty = threadIdx.y, r = blockIdx.y * 16 + ty, c = blockIdx.x * 16 + tx;
  auto load = [&](int s, int k0) {
    bool pa = r < M && k0 + tx < K, pb = k0 + ty < K && c < N;
    cp_async4(&As[s][ty][tx], pa ? A + (size_t)r * K + k0 + tx : A, pa);
    cp_async4(&Bs[s][ty][tx], pb ? B + (size_t)(k0 + ty) * N + c : B, pb);
  };
  float acc = 0;
  load(0, 0);
  CP_ASYNC_COMMIT();
  int s = 0;
  for (int k0 = 0; k0 < K; k0 += 16) {
    if (k0 + 16 < K) load(s ^ 1, k0 + 16);
    CP_ASYNC_COMMIT();
    CP_ASYNC_WAIT(1);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 16; ++i) acc = fmaf(As[s][ty][i], Bs[s][i][tx], acc);
    __syncthreads();
    s ^= 1;
  }
  if (r < M && c < N) C[(size_t)r * N + c] = acc;
}
extern "C" void launch(const float* a, const float* b, float* c, int m, int k, int n, cudaStream_t stream) {
  dim3 t(16, 16), g((n + 15) / 16, (m + 15) / 16);
  mm<<<g, t, 0, stream>>>(a, b, c, m, k, n);
}
