__device__ float feature(float x) { return x > 0.0f ? x + 1.0f : expf(x); }

// Pass 1: one thread computes one element of one head's key-value state.
__global__ void key_value_state(const float* k, const float* v, float* state, int seq, int dim) {
  int column = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y;
  int head = blockIdx.z;
  if (column >= dim || row >= dim) return;
  float sum = 0.0f;
  for (int s = 0; s < seq; ++s) {
    sum += feature(k[(head * seq + s) * dim + row]) * v[(head * seq + s) * dim + column];
  }
  state[(head * dim + row) * dim + column] = sum;
}

// Pass 2: one thread sums one feature of one head's keys.
__global__ void key_total(const float* k, float* total, int heads, int seq, int dim) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= heads * dim) return;
  int head = i / dim;
  int d = i % dim;
  float sum = 0.0f;
  for (int s = 0; s < seq; ++s) sum += feature(k[(head * seq + s) * dim + d]);
  total[i] = sum;
}

// Pass 3: one thread computes one output element.
__global__ void query_state(const float* q, const float* state, const float* total, float* y, int heads, int seq,
                            int dim) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= heads * seq * dim) return;
  int column = i % dim;
  int row = i / dim;
  int head = row / seq;
  float numerator = 0.0f;
  float denominator = 0.0f;
  for (int d = 0; d < dim; ++d) {
    float f = feature(q[row * dim + d]);
    numerator += f * state[(head * dim + d) * dim + column];
    denominator += f * total[head * dim + d];
  }
  y[i] = numerator / denominator;
}

#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))

extern "C" void launch(const float* q, const float* k, const float* v, float* y, int batch, int heads, int seq,
                       int dim, cudaStream_t stream) {
  int all_heads = batch * heads;
  float* state = nullptr;
  float* total = nullptr;
  cudaMallocAsync(&state, sizeof(float) * all_heads * dim * dim, stream);
  cudaMallocAsync(&total, sizeof(float) * all_heads * dim, stream);
  dim3 grid(CEIL_DIV(dim, 32), dim, all_heads);
  key_value_state<<<grid, 32, 0, stream>>>(k, v, state, seq, dim);
  key_total<<<CEIL_DIV(all_heads * dim, 64), 64, 0, stream>>>(k, total, all_heads, seq, dim);
  query_state<<<CEIL_DIV(all_heads * seq * dim, 256), 256, 0, stream>>>(q, state, total, y, all_heads, seq, dim);
  cudaFreeAsync(state, stream);
  cudaFreeAsync(total, stream);
}
