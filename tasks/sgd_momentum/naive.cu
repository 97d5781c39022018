// One thread updates one parameter.
__global__ void sgd_step(const float* param, const float* grad, const float* buffer, float lr, float momentum,
                         float* new_param, float* new_buffer, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  float velocity = momentum * buffer[i] + grad[i];
  new_buffer[i] = velocity;
  new_param[i] = param[i] - lr * velocity;
}

extern "C" void launch(const float* param, const float* grad, const float* buffer, float lr, float momentum,
                       float* new_param, float* new_buffer, int count, cudaStream_t stream) {
  const int threads = 256;
  const int blocks = (count + threads - 1) / threads;
  sgd_step<<<blocks, threads, 0, stream>>>(param, grad, buffer, lr, momentum, new_param, new_buffer, count);
}
