// A verdict must not depend on chance: on the sizes and inputs that the secret draws, or the blocks that are looked at.
// The whole experiment is bench/steadiness_bench.cpp; these are the causes that it had.

#include <set>

#include "kernel/judge/judge_test_support.h"

namespace kw {
namespace {

// The full sizes are looked at with one secret in `full_every`: their references take long.
std::set<std::string> verdicts(const Task& task, const std::string& kernel, int secrets, int full_every = 1000) {
  std::set<std::string> all;
  for (int secret = 0; secret < secrets; ++secret) {
    JudgeOptions options;
    options.profile = load_profile("h200").value();
    options.secret = "secret " + std::to_string(secret);
    options.cache = false;
    options.want_time = false;
    options.full_size = secret % full_every == full_every - 1;
    Judge judge(test_service(), options);
    const Verdict verdict = judge.judge(task, kernel, "kernel.cu");
    all.insert(verdict.correct ? "correct" : std::string(to_string(verdict.status)) + ": " + verdict.summary);
  }
  return all;
}

const std::set<std::string> always_correct{"correct"};

Task with_sizes(Task task, std::vector<Sizes> small, std::vector<Sizes> train, std::vector<Sizes> holdout) {
  task.sizes_small = std::move(small);
  task.sizes_train = std::move(train);
  task.sizes_holdout = std::move(holdout);
  return task;
}

// Half of the blocks have one column to do: by chance most of the blocks that are looked at are such.
TEST(Steadiness, BlocksAtAnEdgeAreNotTakenForSkippedWork) {
  std::vector<Sizes> train;
  for (const std::int64_t rows : {2000, 3000, 4000, 5000}) train.push_back({{"rows", rows}, {"cols", 257}});
  const Task task = with_sizes(suite_task("bias_add"), suite_task("bias_add").sizes_small, train, train);
  EXPECT_EQ(verdicts(task, R"(
__global__ void add(const float* x, const float* bias, float* y, int cols) {
  int col = blockIdx.x * 256 + threadIdx.x;
  if (col < cols) y[blockIdx.y * cols + col] = x[blockIdx.y * cols + col] + bias[col];
}
extern "C" void launch(const float* x, const float* bias, float* y, int rows, int cols, cudaStream_t stream) {
  add<<<dim3((cols + 255) / 256, rows), 256, 0, stream>>>(x, bias, y, cols);
}
)",
                     20, 5),
            always_correct);
}

// Every declared size is a multiple of 1024: a kernel may rely on it, and its grid is never empty.
TEST(Steadiness, WhatAllDeclaredSizesAreMultiplesOfMayBeReliedOn) {
  const Task task = with_sizes(suite_task("relu"), {{{"n", 2048}}, {{"n", 5120}}}, {{{"n", 1 << 20}}, {{"n", 3 << 20}}},
                               {{{"n", 7 << 18}}});
  EXPECT_EQ(verdicts(task, R"(
__global__ void relu(const float4* x, float4* y) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float4 v = x[i];
  y[i] = make_float4(fmaxf(v.x, 0.0f), fmaxf(v.y, 0.0f), fmaxf(v.z, 0.0f), fmaxf(v.w, 0.0f));
}
extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  relu<<<n / 1024, 256, 0, stream>>>(reinterpret_cast<const float4*>(x), reinterpret_cast<float4*>(y));
}
)",
                     8),
            always_correct);
}

TEST(Steadiness, ASquareTaskIsJudgedAtSquares) {
  std::vector<Sizes> small, train;
  for (const std::int64_t n : {32, 64}) small.push_back({{"m", n}, {"k", n}, {"n", n}});
  train.push_back({{"m", 1024}, {"k", 1024}, {"n", 1024}});
  const Task task = with_sizes(suite_task("matmul"), small, train, {{{"m", 512}, {"k", 512}, {"n", 512}}});
  EXPECT_EQ(verdicts(task, R"(
__global__ void multiply(const float* a, const float* b, float* c, int n) {
  __shared__ float left[32][33], right[32][33];
  int row = blockIdx.y * 32 + threadIdx.y, col = blockIdx.x * 32 + threadIdx.x;
  float sum = 0.0f;
  for (int at = 0; at < n; at += 32) {
    left[threadIdx.y][threadIdx.x] = a[row * n + at + threadIdx.x];
    right[threadIdx.y][threadIdx.x] = b[(at + threadIdx.y) * n + col];
    __syncthreads();
    for (int k = 0; k < 32; ++k) sum += left[threadIdx.y][k] * right[k][threadIdx.x];
    __syncthreads();
  }
  c[row * n + col] = sum;
}
extern "C" void launch(const float* a, const float* b, float* c, int m, int k, int n, cudaStream_t stream) {
  multiply<<<dim3(n / 32, n / 32), dim3(32, 32), 0, stream>>>(a, b, c, n);
}
)",
                     6),
            always_correct);
}

// Every output element computes all scores of its row again: far from the best, and right.
TEST(Steadiness, AWastefulKernelNeedsNoLuckWithoutANaiveOneSlow) {
  Task task = suite_task("attention");
  task.naive.clear();
  const std::string kernel = R"(
__global__ void attend(const float* q, const float* k, const float* v, float* y, int seq, int dim, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  int d = i % dim, query = i / dim, first = query / seq * seq;
  float top = -INFINITY, sum = 0.0f, value = 0.0f;
  for (int key = first; key < first + seq; ++key) {
    float score = 0.0f;
    for (int j = 0; j < dim; ++j) score += q[query * dim + j] * k[key * dim + j];
    score /= sqrtf(static_cast<float>(dim));
    float higher = fmaxf(top, score), scale = expf(top - higher), weight = expf(score - higher);
    sum = sum * scale + weight;
    value = value * scale + weight * v[key * dim + d];
    top = higher;
  }
  y[i] = value / sum;
}
extern "C" void launch(const float* q, const float* k, const float* v, float* y, int batch, int heads, int seq,
                       int dim, cudaStream_t stream) {
  int count = batch * heads * seq * dim;
  attend<<<(count + 63) / 64, 64, 0, stream>>>(q, k, v, y, seq, dim, count);
}
)";
  EXPECT_EQ(verdicts(task, kernel, 8), always_correct);
}

// exp overflows for one value in seventy of the large inputs: a small size may have none by chance.
TEST(Steadiness, AnOverflowIsFoundEachTime) {
  Task task = suite_task("sigmoid");
  task.inputs.front().values = NormalValues{};
  task.sizes_small = {{{"rows", 3}, {"cols", 1}}, {{"rows", 5}, {"cols", 3}}};
  const auto all = verdicts(task, R"(
__global__ void sigmoid(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = expf(x[i]) / (1.0f + expf(x[i]));
}
extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  sigmoid<<<(rows * cols + 255) / 256, 256, 0, stream>>>(x, y, rows * cols);
}
)",
                            12);
  EXPECT_FALSE(all.contains("correct"));
}

// Which side of an edge a value falls on, float and double may see differently: the product is rounded.
TEST(Steadiness, AValueAtTheEdgeOfARoundingIsForgiven) {
  Task task = suite_task("bias_add");
  task.pytorch = "def reference(x, bias):\n    return torch.round(x * bias * 1000.0)\n";
  task.naive.clear();
  const std::string kernel = R"(
__global__ void level(const float* x, const float* bias, float* y, int cols, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = rintf(x[i] * (bias[i % cols] * 1000.0f));
}
extern "C" void launch(const float* x, const float* bias, float* y, int rows, int cols, cudaStream_t stream) {
  level<<<(rows * cols + 255) / 256, 256, 0, stream>>>(x, bias, y, cols, rows * cols);
}
)";
  EXPECT_EQ(verdicts(task, kernel, 8), always_correct);
  // One more than right is wrong all the same.
  std::string off = kernel;
  off.replace(off.find("1000.0f));"), 10, "1000.0f)) + 1.0f;");
  EXPECT_FALSE(verdicts(task, off, 4).contains("correct"));
}

// The order of equal values is not promised: neither by the reference's sort, nor by a kernel's.
TEST(Steadiness, EqualValuesMayBeSortedEitherWay) {
  Task task = suite_task("row_argmax");
  task.pytorch = "def reference(x):\n    return torch.topk(x, 1, -1)[1].squeeze(-1)\n";
  task.naive.clear();
  task.inputs.front().dtype = Dtype::bfloat16;
  EXPECT_EQ(verdicts(task, R"(
#include <cuda_bf16.h>
__global__ void last_of_the_largest(const __nv_bfloat16* x, int* y, int rows, int cols) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  int best = 0;
  for (int c = 1; c < cols; ++c)
    if (__bfloat162float(x[row * cols + c]) >= __bfloat162float(x[row * cols + best])) best = c;
  y[row] = best;
}
extern "C" void launch(const __nv_bfloat16* x, int* y, int rows, int cols, cudaStream_t stream) {
  last_of_the_largest<<<(rows + 63) / 64, 64, 0, stream>>>(x, y, rows, cols);
}
)",
                     8),
            always_correct);
}

}  // namespace
}  // namespace kw
