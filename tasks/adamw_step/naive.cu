// Pass 1: one thread updates both moments of one parameter.
__global__ void update_moments(const float* grad, const float* m, const float* v, float beta1, float beta2,
                               float* new_m, float* new_v, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  float g = grad[i];
  new_m[i] = beta1 * m[i] + (1.0f - beta1) * g;
  new_v[i] = beta2 * v[i] + (1.0f - beta2) * g * g;
}

// Pass 2: one thread updates one parameter from its new moments.
__global__ void update_param(const float* param, const float* new_m, const float* new_v, float lr, float eps,
                             float decay, float correction1, float correction2, float* new_param, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  float step = (new_m[i] / correction1) / (sqrtf(new_v[i] / correction2) + eps);
  new_param[i] = param[i] * (1.0f - lr * decay) - lr * step;
}

extern "C" void launch(const float* param, const float* grad, const float* m, const float* v, float lr, float beta1,
                       float beta2, float eps, float decay, float correction1, float correction2, float* new_param,
                       float* new_m, float* new_v, int count, cudaStream_t stream) {
  const unsigned threads = 512;
  const unsigned blocks = (static_cast<unsigned>(count) + threads - 1) / threads;
  update_moments<<<blocks, threads, 0, stream>>>(grad, m, v, beta1, beta2, new_m, new_v, count);
  update_param<<<blocks, threads, 0, stream>>>(param, new_m, new_v, lr, eps, decay, correction1, correction2,
                                               new_param, count);
}
