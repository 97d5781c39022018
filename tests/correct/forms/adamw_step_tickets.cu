// task: adamw_step
// honest: 264 persistent blocks draw chunks of 16384 elements by an atomic ticket; full chunks without guards, the last one guarded.
constexpr int threads = 512;
constexpr int chunk = threads * 4 * 8;

struct Settings {
  float lr, beta1, beta2, eps, decay, correction1, correction2;
};

__device__ __forceinline__ void update(const Settings& s, float p, float g, float m, float v, float& new_p, float& new_m, float& new_v) {
  new_m = s.beta1 * m + (1.0f - s.beta1) * g;
  new_v = s.beta2 * v + (1.0f - s.beta2) * g * g;
  const float step = (new_m / s.correction1) / (sqrtf(new_v / s.correction2) + s.eps);
  new_p = p * (1.0f - s.lr * s.decay) - s.lr * step;
}

__global__ void __launch_bounds__(threads) adamw_kernel(const float* __restrict__ param, const float* __restrict__ grad,
                                                        const float* __restrict__ m, const float* __restrict__ v, Settings s,
                                                        float* __restrict__ new_param, float* __restrict__ new_m,
                                                        float* __restrict__ new_v, int count, int* ticket) {
  __shared__ int drawn;
  const int chunks = (count + chunk - 1) / chunk;
  int mine = blockIdx.x;
  while (mine < chunks) {
    const int begin = mine * chunk;
    if (count - begin >= chunk) {
#pragma unroll 2
      for (int e = 0; e < 8; ++e) {
        const int i = begin / 4 + e * threads + threadIdx.x;
        const float4 p4 = reinterpret_cast<const float4*>(param)[i], g4 = reinterpret_cast<const float4*>(grad)[i];
        const float4 m4 = reinterpret_cast<const float4*>(m)[i], v4 = reinterpret_cast<const float4*>(v)[i];
        float4 a, b, c;
        update(s, p4.x, g4.x, m4.x, v4.x, a.x, b.x, c.x);
        update(s, p4.y, g4.y, m4.y, v4.y, a.y, b.y, c.y);
        update(s, p4.z, g4.z, m4.z, v4.z, a.z, b.z, c.z);
        update(s, p4.w, g4.w, m4.w, v4.w, a.w, b.w, c.w);
        reinterpret_cast<float4*>(new_param)[i] = a;
        reinterpret_cast<float4*>(new_m)[i] = b;
        reinterpret_cast<float4*>(new_v)[i] = c;
      }
    } else {
      for (int i = begin + threadIdx.x; i < count; i += threads) {
        update(s, param[i], grad[i], m[i], v[i], new_param[i], new_m[i], new_v[i]);
      }
    }
    __syncthreads();
    if (threadIdx.x == 0) drawn = gridDim.x + atomicAdd(ticket, 1);
    __syncthreads();
    mine = drawn;
  }
}

extern "C" void launch(const float* param, const float* grad, const float* m, const float* v, float lr, float beta1, float beta2,
                       float eps, float decay, float correction1, float correction2, float* new_param, float* new_m, float* new_v,
                       int count, cudaStream_t stream) {
  const int chunks = (count + chunk - 1) / chunk;
  int* ticket;
  cudaMallocAsync(&ticket, sizeof(int), stream);
  cudaMemsetAsync(ticket, 0, sizeof(int), stream);
  Settings s{lr, beta1, beta2, eps, decay, correction1, correction2};
  adamw_kernel<<<chunks < 264 ? chunks : 264, threads, 0, stream>>>(param, grad, m, v, s, new_param, new_m, new_v, count, ticket);
  cudaFreeAsync(ticket, stream);
}
