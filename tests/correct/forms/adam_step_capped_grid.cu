// task: adam_step
// honest: grid-stride loop over float4 with at most 4096 blocks of 256 threads, the last count % 4 elements one by one.
struct Settings {
  float lr, beta1, beta2, eps, correction1, correction2;
};

__device__ __forceinline__ void update(const Settings& s, float p, float g, float m, float v, float& new_p, float& new_m, float& new_v) {
  new_m = s.beta1 * m + (1.0f - s.beta1) * g;
  new_v = s.beta2 * v + (1.0f - s.beta2) * g * g;
  new_p = p - s.lr * (new_m / s.correction1) / (sqrtf(new_v / s.correction2) + s.eps);
}

__global__ void __launch_bounds__(256) adam_kernel(const float* __restrict__ param, const float* __restrict__ grad,
                                                   const float* __restrict__ m, const float* __restrict__ v, Settings s,
                                                   float* __restrict__ new_param, float* __restrict__ new_m,
                                                   float* __restrict__ new_v, int count) {
  const int vectors = count / 4, stride = gridDim.x * blockDim.x, self = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = self; i < vectors; i += stride) {
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
  const int t = vectors * 4 + self;
  if (t < count) update(s, param[t], grad[t], m[t], v[t], new_param[t], new_m[t], new_v[t]);
}

extern "C" void launch(const float* param, const float* grad, const float* m, const float* v, float lr, float beta1, float beta2,
                       float eps, float correction1, float correction2, float* new_param, float* new_m, float* new_v, int count,
                       cudaStream_t stream) {
  int blocks = (count / 4 + 255) / 256;
  blocks = blocks < 1 ? 1 : blocks > 4096 ? 4096 : blocks;
  Settings s{lr, beta1, beta2, eps, correction1, correction2};
  adam_kernel<<<blocks, 256, 0, stream>>>(param, grad, m, v, s, new_param, new_m, new_v, count);
}
