constexpr int kHeads = 4;

// Projections: one thread computes one element of the product of the rows and a square matrix.
__global__ void project(const float* x, const float* weight, float* out, int rows, int dim) {
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= rows || col >= dim) return;
  float sum = 0.0f;
  for (int i = 0; i < dim; ++i) sum += x[row * dim + i] * weight[i * dim + col];
  out[row * dim + col] = sum;
}

// One thread computes one score of one head; blockIdx.z runs over the batch's heads.
__global__ void head_scores(const float* q, const float* k, float* scores, int seq, int head_dim) {
  int key = blockIdx.x * blockDim.x + threadIdx.x;
  int query = blockIdx.y * blockDim.y + threadIdx.y;
  if (key >= seq || query >= seq) return;
  int b = blockIdx.z / kHeads;
  int head = blockIdx.z % kHeads;
  int dim = kHeads * head_dim;
  const float* q_row = q + (b * seq + query) * dim + head * head_dim;
  const float* k_row = k + (b * seq + key) * dim + head * head_dim;
  float sum = 0.0f;
  for (int d = 0; d < head_dim; ++d) sum += q_row[d] * k_row[d];
  scores[(blockIdx.z * seq + query) * seq + key] = sum / sqrtf(static_cast<float>(head_dim));
}

// One thread turns one row of scores into weights.
__global__ void score_softmax(float* scores, int rows, int seq) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float* s = scores + row * seq;
  float top = s[0];
  for (int i = 1; i < seq; ++i) top = fmaxf(top, s[i]);
  float sum = 0.0f;
  for (int i = 0; i < seq; ++i) sum += expf(s[i] - top);
  for (int i = 0; i < seq; ++i) s[i] = expf(s[i] - top) / sum;
}

// One thread computes one element of one head's context.
__global__ void head_context(const float* weights, const float* v, float* context, int seq, int head_dim) {
  int d = blockIdx.x * blockDim.x + threadIdx.x;
  int query = blockIdx.y * blockDim.y + threadIdx.y;
  if (d >= head_dim || query >= seq) return;
  int b = blockIdx.z / kHeads;
  int head = blockIdx.z % kHeads;
  int dim = kHeads * head_dim;
  float sum = 0.0f;
  for (int key = 0; key < seq; ++key) {
    sum += weights[(blockIdx.z * seq + query) * seq + key] * v[(b * seq + key) * dim + head * head_dim + d];
  }
  context[(b * seq + query) * dim + head * head_dim + d] = sum;
}

inline unsigned ceil_div(int a, int b) { return static_cast<unsigned>((a + b - 1) / b); }

extern "C" void launch(const float* x, const float* wq, const float* wk, const float* wv, const float* wo, float* y,
                       int batch, int seq, int head_dim, cudaStream_t stream) {
  const int dim = kHeads * head_dim;
  const int rows = batch * seq;
  const int all_heads = batch * kHeads;
  const size_t bytes = static_cast<size_t>(rows) * dim * sizeof(float);
  float* q = nullptr;
  float* k = nullptr;
  float* v = nullptr;
  float* context = nullptr;
  float* scores = nullptr;
  cudaMallocAsync(&q, bytes, stream);
  cudaMallocAsync(&k, bytes, stream);
  cudaMallocAsync(&v, bytes, stream);
  cudaMallocAsync(&context, bytes, stream);
  cudaMallocAsync(&scores, static_cast<size_t>(all_heads) * seq * seq * sizeof(float), stream);
  const dim3 block(32, 8);
  const dim3 row_grid(ceil_div(dim, 32), ceil_div(rows, 8));
  project<<<row_grid, block, 0, stream>>>(x, wq, q, rows, dim);
  project<<<row_grid, block, 0, stream>>>(x, wk, k, rows, dim);
  project<<<row_grid, block, 0, stream>>>(x, wv, v, rows, dim);
  const dim3 score_grid(ceil_div(seq, 32), ceil_div(seq, 8), all_heads);
  head_scores<<<score_grid, block, 0, stream>>>(q, k, scores, seq, head_dim);
  score_softmax<<<ceil_div(all_heads * seq, 64), 64, 0, stream>>>(scores, all_heads * seq, seq);
  const dim3 context_grid(ceil_div(head_dim, 32), ceil_div(seq, 8), all_heads);
  head_context<<<context_grid, block, 0, stream>>>(scores, v, context, seq, head_dim);
  project<<<row_grid, block, 0, stream>>>(context, wo, y, rows, dim);
  cudaFreeAsync(scores, stream);
  cudaFreeAsync(context, stream);
  cudaFreeAsync(v, stream);
  cudaFreeAsync(k, stream);
  cudaFreeAsync(q, stream);
}
