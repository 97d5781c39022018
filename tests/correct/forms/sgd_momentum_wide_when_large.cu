// task: sgd_momentum
// honest: a template by elements per thread: one while the grid is small, eight in two float4 for more than 4096 blocks of 1024.
template <int Vectors>
__global__ void __launch_bounds__(256) sgd_wide(const float4* __restrict__ param, const float4* __restrict__ grad,
                                                const float4* __restrict__ buffer, float lr, float momentum,
                                                float4* __restrict__ new_param, float4* __restrict__ new_buffer, int vectors) {
#pragma unroll
  for (int e = 0; e < Vectors; ++e) {
    const int i = (blockIdx.x * Vectors + e) * 256 + threadIdx.x;
    if (i >= vectors) return;
    const float4 p = param[i], g = grad[i], b = buffer[i];
    const float4 w = make_float4(momentum * b.x + g.x, momentum * b.y + g.y, momentum * b.z + g.z, momentum * b.w + g.w);
    new_buffer[i] = w;
    new_param[i] = make_float4(p.x - lr * w.x, p.y - lr * w.y, p.z - lr * w.z, p.w - lr * w.w);
  }
}

__global__ void __launch_bounds__(256) sgd_narrow(const float* __restrict__ param, const float* __restrict__ grad,
                                                  const float* __restrict__ buffer, float lr, float momentum,
                                                  float* __restrict__ new_param, float* __restrict__ new_buffer, int begin, int count) {
  const int i = begin + blockIdx.x * 256 + threadIdx.x;
  if (i >= count) return;
  const float w = momentum * buffer[i] + grad[i];
  new_buffer[i] = w;
  new_param[i] = param[i] - lr * w;
}

extern "C" void launch(const float* param, const float* grad, const float* buffer, float lr, float momentum, float* new_param,
                       float* new_buffer, int count, cudaStream_t stream) {
  int done = 0;
  if (count > 4096 * 1024) {
    const int vectors = count / 4;
    sgd_wide<2><<<(vectors + 511) / 512, 256, 0, stream>>>((const float4*)param, (const float4*)grad, (const float4*)buffer, lr,
                                                           momentum, (float4*)new_param, (float4*)new_buffer, vectors);
    done = vectors * 4;
  }
  if (done < count) {
    sgd_narrow<<<(count - done + 255) / 256, 256, 0, stream>>>(param, grad, buffer, lr, momentum, new_param, new_buffer, done, count);
  }
}
