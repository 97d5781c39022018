// task: sgd_momentum
__global__ void sgd_kernel(const float* __restrict__ param, const float* __restrict__ grad, float* buffer, float lr,
                           float momentum, float* __restrict__ new_param, float* __restrict__ new_buffer, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const float next = fmaf(momentum, buffer[i], grad[i]);
  new_buffer[i] = next;
  new_param[i] = param[i] - lr * next;
}

extern "C" void launch(const float* param, const float* grad, const float* buffer, float lr, float momentum,
                       float* new_param, float* new_buffer, int count, cudaStream_t stream) {
  sgd_kernel<<<(count + 255) / 256, 256, 0, stream>>>(param, grad, const_cast<float*>(buffer), lr, momentum, new_param,
                                                      new_buffer, count);
}
