// One thread updates one parameter and its two moments.
__global__ void adam(const float* param, const float* grad, const float* m, const float* v, float lr, float beta1,
                     float beta2, float eps, float correction1, float correction2, float* new_param, float* new_m,
                     float* new_v, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {
    float g = grad[i];
    float first = beta1 * m[i] + (1.0f - beta1) * g;
    float second = beta2 * v[i] + (1.0f - beta2) * g * g;
    new_m[i] = first;
    new_v[i] = second;
    new_param[i] = param[i] - lr * (first / correction1) / (sqrtf(second / correction2) + eps);
  }
}

#define DIV_UP(a, b) (((a) + (b) - 1) / (b))

extern "C" void launch(const float* param, const float* grad, const float* m, const float* v, float lr, float beta1,
                       float beta2, float eps, float correction1, float correction2, float* new_param, float* new_m,
                       float* new_v, int count, cudaStream_t stream) {
  dim3 block(256);
  dim3 grid(DIV_UP(count, block.x));
  adam<<<grid, block, 0, stream>>>(param, grad, m, v, lr, beta1, beta2, eps, correction1, correction2, new_param,
                                   new_m, new_v, count);
}
