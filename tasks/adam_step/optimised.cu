// Bandwidth-bound, seven streams: four independent 16-byte loads and three 16-byte stores a thread.
// The divisions by the corrections are turned into factors once, on the host.
struct Step {
  float lr, beta1, beta2, eps, scale1, scale2;
};

struct alignas(16) Pack {
  float at[4];
};

__device__ void update(const Step& step, float grad, float& param, float& m, float& v) {
  m = step.beta1 * m + (1.0f - step.beta1) * grad;
  v = step.beta2 * v + (1.0f - step.beta2) * grad * grad;
  param -= step.lr * (m * step.scale1) / (sqrtf(v * step.scale2) + step.eps);
}

__global__ void adam_vector(const float* __restrict__ param, const float* __restrict__ grad,
                            const float* __restrict__ m, const float* __restrict__ v, Step step,
                            float* __restrict__ new_param, float* __restrict__ new_m, float* __restrict__ new_v,
                            int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int packs = count / 4;
  if (i < packs) {
    const Pack g = reinterpret_cast<const Pack*>(grad)[i];
    Pack p = reinterpret_cast<const Pack*>(param)[i];
    Pack first = reinterpret_cast<const Pack*>(m)[i];
    Pack second = reinterpret_cast<const Pack*>(v)[i];
#pragma unroll
    for (int k = 0; k < 4; ++k) update(step, g.at[k], p.at[k], first.at[k], second.at[k]);
    reinterpret_cast<Pack*>(new_param)[i] = p;
    reinterpret_cast<Pack*>(new_m)[i] = first;
    reinterpret_cast<Pack*>(new_v)[i] = second;
  } else if (i < packs + count % 4) {
    const int rest = 3 * packs + i;
    float p = param[rest], first = m[rest], second = v[rest];
    update(step, grad[rest], p, first, second);
    new_param[rest] = p;
    new_m[rest] = first;
    new_v[rest] = second;
  }
}

extern "C" void launch(const float* param, const float* grad, const float* m, const float* v, float lr, float beta1,
                       float beta2, float eps, float correction1, float correction2, float* new_param, float* new_m,
                       float* new_v, int count, cudaStream_t stream) {
  constexpr int threads = 256;
  const int workers = count / 4 + count % 4;
  const Step step{lr, beta1, beta2, eps, 1.0f / correction1, 1.0f / correction2};
  adam_vector<<<(workers + threads - 1) / threads, threads, 0, stream>>>(param, grad, m, v, step, new_param, new_m,
                                                                         new_v, count);
}
