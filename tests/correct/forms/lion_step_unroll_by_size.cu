// task: lion_step
// honest: the launcher picks how many elements a thread takes (1, 4 or 8) by the number of elements; blocks of 192 threads.
constexpr int threads = 192;

template <int Each>
__global__ void __launch_bounds__(threads) lion(const float* __restrict__ param, const float* __restrict__ grad,
                                                const float* __restrict__ m, float lr, float beta1, float beta2, float decay,
                                                float* __restrict__ new_param, float* __restrict__ new_m, int count) {
  const int begin = blockIdx.x * threads * Each + threadIdx.x;
  if (begin + (Each - 1) * threads < count) {
    float p[Each], g[Each], old[Each];
#pragma unroll
    for (int e = 0; e < Each; ++e) {
      p[e] = param[begin + e * threads];
      g[e] = grad[begin + e * threads];
      old[e] = m[begin + e * threads];
    }
#pragma unroll
    for (int e = 0; e < Each; ++e) {
      const float blend = beta1 * old[e] + (1.0f - beta1) * g[e];
      const float direction = blend > 0.0f ? 1.0f : blend < 0.0f ? -1.0f : 0.0f;
      new_param[begin + e * threads] = p[e] * (1.0f - lr * decay) - lr * direction;
      new_m[begin + e * threads] = beta2 * old[e] + (1.0f - beta2) * g[e];
    }
  } else {
    for (int i = begin; i < count; i += threads) {
      const float blend = beta1 * m[i] + (1.0f - beta1) * grad[i];
      const float direction = blend > 0.0f ? 1.0f : blend < 0.0f ? -1.0f : 0.0f;
      new_param[i] = param[i] * (1.0f - lr * decay) - lr * direction;
      new_m[i] = beta2 * m[i] + (1.0f - beta2) * grad[i];
    }
  }
}

extern "C" void launch(const float* param, const float* grad, const float* m, float lr, float beta1, float beta2, float decay,
                       float* new_param, float* new_m, int count, cudaStream_t stream) {
  if (count >= 1 << 22) {
    const int blocks = (count + threads * 8 - 1) / (threads * 8);
    lion<8><<<blocks, threads, 0, stream>>>(param, grad, m, lr, beta1, beta2, decay, new_param, new_m, count);
  } else if (count >= 1 << 16) {
    const int blocks = (count + threads * 4 - 1) / (threads * 4);
    lion<4><<<blocks, threads, 0, stream>>>(param, grad, m, lr, beta1, beta2, decay, new_param, new_m, count);
  } else {
    lion<1><<<(count + threads - 1) / threads, threads, 0, stream>>>(param, grad, m, lr, beta1, beta2, decay, new_param, new_m, count);
  }
}
