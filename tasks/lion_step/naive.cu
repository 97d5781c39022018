// One thread updates one parameter and its momentum.
__global__ void lion(const float* param, const float* grad, const float* m, float lr, float beta1, float beta2,
                     float decay, float* new_param, float* new_m, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  float blend = beta1 * m[i] + (1.0f - beta1) * grad[i];
  float direction = 0.0f;
  if (blend > 0.0f) direction = 1.0f;
  if (blend < 0.0f) direction = -1.0f;
  new_param[i] = param[i] * (1.0f - lr * decay) - lr * direction;
  new_m[i] = beta2 * m[i] + (1.0f - beta2) * grad[i];
}

extern "C" void launch(const float* param, const float* grad, const float* m, float lr, float beta1, float beta2,
                       float decay, float* new_param, float* new_m, int count, cudaStream_t stream) {
  lion<<<(count + 255) / 256, 256, 0, stream>>>(param, grad, m, lr, beta1, beta2, decay, new_param, new_m, count);
}
