// task: silu_mul_bf16
// honest: 16-byte vectors when the matrix is a multiple of eight, 4096 blocks at most with a grid-stride loop, a plain kernel otherwise.
#include <cuda_bf16.h>

__device__ __forceinline__ float gated(float g, float u) { return g / (1.0f + expf(-g)) * u; }

__global__ void __launch_bounds__(256) gate_vectors(const uint4* __restrict__ gate, const uint4* __restrict__ up, uint4* __restrict__ y,
                                                    int vectors) {
  for (int i = blockIdx.x * 256 + threadIdx.x; i < vectors; i += gridDim.x * 256) {
    uint4 g = gate[i], u = up[i];
    __nv_bfloat162* gs = reinterpret_cast<__nv_bfloat162*>(&g);
    const __nv_bfloat162* us = reinterpret_cast<const __nv_bfloat162*>(&u);
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const float2 a = __bfloat1622float2(gs[e]), b = __bfloat1622float2(us[e]);
      gs[e] = __floats2bfloat162_rn(gated(a.x, b.x), gated(a.y, b.y));
    }
    y[i] = g;
  }
}

__global__ void __launch_bounds__(256) gate_single(const __nv_bfloat16* __restrict__ gate, const __nv_bfloat16* __restrict__ up,
                                                   __nv_bfloat16* __restrict__ y, int total) {
  for (int i = blockIdx.x * 256 + threadIdx.x; i < total; i += gridDim.x * 256) {
    y[i] = __float2bfloat16(gated(__bfloat162float(gate[i]), __bfloat162float(up[i])));
  }
}

extern "C" void launch(const __nv_bfloat16* gate, const __nv_bfloat16* up, __nv_bfloat16* y, int rows, int cols, cudaStream_t stream) {
  const int total = rows * cols;
  const int work = total % 8 == 0 ? total / 8 : total;
  int blocks = (work + 255) / 256;
  if (blocks > 4096) blocks = 4096;
  if (total % 8 == 0) {
    gate_vectors<<<blocks, 256, 0, stream>>>((const uint4*)gate, (const uint4*)up, (uint4*)y, work);
  } else {
    gate_single<<<blocks, 256, 0, stream>>>(gate, up, y, total);
  }
}
