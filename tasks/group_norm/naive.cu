// Pass 1: one thread finds the mean and the reciprocal deviation of one group.
__global__ void group_moments(const float* x, float* mean, float* scale, int group_count, int size) {
  int group = blockIdx.x * blockDim.x + threadIdx.x;
  if (group >= group_count) return;
  const float* in = x + group * size;
  float sum = 0.0f;
  for (int i = 0; i < size; ++i) sum += in[i];
  float centre = sum / size;
  float squares = 0.0f;
  for (int i = 0; i < size; ++i) squares += (in[i] - centre) * (in[i] - centre);
  mean[group] = centre;
  scale[group] = rsqrtf(squares / size + 1e-5f);
}

// Pass 2: one thread writes one element.
__global__ void group_apply(const float* x, const float* mean, const float* scale, const float* weight,
                            const float* bias, float* y, int batch, int groups, int width, int area) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= batch * groups * width * area) return;
  int channel = i / area % (groups * width);
  int group = i / (area * width);
  y[i] = (x[i] - mean[group]) * scale[group] * weight[channel] + bias[channel];
}

extern "C" void launch(const float* x, const float* weight, const float* bias, float* y, int batch, int groups,
                       int width, int area, cudaStream_t stream) {
  const int group_count = batch * groups;
  const int total = group_count * width * area;
  float* mean = nullptr;
  float* scale = nullptr;
  cudaMallocAsync(&mean, group_count * sizeof(float), stream);
  cudaMallocAsync(&scale, group_count * sizeof(float), stream);
  group_moments<<<(group_count + 31) / 32, 32, 0, stream>>>(x, mean, scale, group_count, width * area);
  group_apply<<<(total + 255) / 256, 256, 0, stream>>>(x, mean, scale, weight, bias, y, batch, groups, width, area);
  cudaFreeAsync(scale, stream);
  cudaFreeAsync(mean, stream);
}
