__device__ float gelu(float x) { return 0.5f * x * (1.0f + erff(x * 0.70710678f)); }

// Pass 1: one thread computes one hidden value.
__global__ void first_layer(const float* x, const float* w1, const float* b1, float* h, int rows, int dim,
                            int hidden) {
  int unit = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= rows || unit >= hidden) return;
  float sum = b1[unit];
  for (int d = 0; d < dim; ++d) sum += x[row * dim + d] * w1[d * hidden + unit];
  h[row * hidden + unit] = gelu(sum);
}

// Pass 2: one thread computes one output element.
__global__ void second_layer(const float* h, const float* w2, const float* b2, float* y, int rows, int dim,
                             int hidden) {
  int d = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= rows || d >= dim) return;
  float sum = b2[d];
  for (int unit = 0; unit < hidden; ++unit) sum += h[row * hidden + unit] * w2[unit * dim + d];
  y[row * dim + d] = sum;
}

static dim3 tiles(int width, int height) { return dim3((width + 15) / 16, (height + 15) / 16); }

extern "C" void launch(const float* x, const float* w1, const float* b1, const float* w2, const float* b2, float* y,
                       int rows, int dim, int hidden, cudaStream_t stream) {
  float* h = nullptr;
  cudaMallocAsync(&h, static_cast<size_t>(rows) * hidden * sizeof(float), stream);
  const dim3 block(16, 16);
  first_layer<<<tiles(hidden, rows), block, 0, stream>>>(x, w1, b1, h, rows, dim, hidden);
  second_layer<<<tiles(dim, rows), block, 0, stream>>>(h, w2, b2, y, rows, dim, hidden);
  cudaFreeAsync(h, stream);
}
