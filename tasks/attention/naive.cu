// Pass 1: one thread computes one score.
__global__ void score(const float* q, const float* k, float* scores, int seq, int dim) {
  int key = blockIdx.x * blockDim.x + threadIdx.x;
  int query = blockIdx.y * blockDim.y + threadIdx.y;
  int head = blockIdx.z;
  if (key >= seq || query >= seq) return;
  float sum = 0.0f;
  for (int d = 0; d < dim; ++d) sum += q[(head * seq + query) * dim + d] * k[(head * seq + key) * dim + d];
  scores[(head * seq + query) * seq + key] = sum / sqrtf(static_cast<float>(dim));
}

// Pass 2: one thread turns one row of scores into weights.
__global__ void softmax_in_place(float* scores, int rows, int seq) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float* s = scores + row * seq;
  float top = s[0];
  for (int key = 1; key < seq; ++key) top = fmaxf(top, s[key]);
  float sum = 0.0f;
  for (int key = 0; key < seq; ++key) {
    s[key] = expf(s[key] - top);
    sum += s[key];
  }
  for (int key = 0; key < seq; ++key) s[key] /= sum;
}

// Pass 3: one thread computes one output element.
__global__ void weigh_values(const float* weights, const float* v, float* y, int seq, int dim) {
  int d = blockIdx.x * blockDim.x + threadIdx.x;
  int query = blockIdx.y * blockDim.y + threadIdx.y;
  int head = blockIdx.z;
  if (d >= dim || query >= seq) return;
  float sum = 0.0f;
  for (int key = 0; key < seq; ++key) {
    sum += weights[(head * seq + query) * seq + key] * v[(head * seq + key) * dim + d];
  }
  y[(head * seq + query) * dim + d] = sum;
}

constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }

extern "C" void launch(const float* q, const float* k, const float* v, float* y, int batch, int heads, int seq,
                       int dim, cudaStream_t stream) {
  const int all_heads = batch * heads;
  const int rows = all_heads * seq;
  float* scores = nullptr;
  cudaMallocAsync(&scores, static_cast<size_t>(rows) * seq * sizeof(float), stream);
  const dim3 block(32, 4);
  score<<<dim3(ceil_div(seq, 32), ceil_div(seq, 4), all_heads), block, 0, stream>>>(q, k, scores, seq, dim);
  softmax_in_place<<<ceil_div(rows, 64), 64, 0, stream>>>(scores, rows, seq);
  weigh_values<<<dim3(ceil_div(dim, 32), ceil_div(seq, 4), all_heads), block, 0, stream>>>(scores, v, y, seq, dim);
  cudaFreeAsync(scores, stream);
}
