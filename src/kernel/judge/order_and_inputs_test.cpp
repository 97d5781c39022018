// Kernels that are right in one order, or for well-behaved values, only: found out with every secret.

#include "kernel/judge/judge_test_support.h"

namespace kw {
namespace {

Verdict judge_with(const Task& task, const std::string& kernel, int secret) {
  JudgeOptions options;
  options.profile = load_profile("h200").value();
  options.secret = "order and inputs " + std::to_string(secret);
  options.cache = false;
  options.want_time = false;
  options.full_size = false;
  return Judge(test_service(), options).judge(task, kernel, "kernel.cu");
}

constexpr int secrets = 6;

// The first block of the small sizes is no place to be careful at only: blocks take the row of their ticket where a row
// is long. All of it is atomic, so nothing races; in the order of the blocks it is right.
TEST(Order, ATicketThatDecidesTheRowIsFoundAtEverySize) {
  const std::string kernel = R"(
__global__ void scale(const __half* x, const __half* s, __half* y, unsigned* ticket, int rows, int cols) {
  __shared__ unsigned row;
  if (threadIdx.x == 0) row = cols > 200 ? atomicAdd(ticket, 1u) : blockIdx.x;
  __syncthreads();
  for (int i = threadIdx.x; i < cols; i += blockDim.x)
    y[blockIdx.x * cols + i] = __float2half(__half2float(x[row * cols + i]) * __half2float(s[row]));
}
extern "C" void launch(const __half* x, const __half* s, __half* y, int rows, int cols, cudaStream_t stream) {
  unsigned* ticket;
  cudaMallocAsync(&ticket, 4, stream);
  cudaMemsetAsync(ticket, 0, 4, stream);
  scale<<<rows, 64, 0, stream>>>(x, s, y, ticket, rows, cols);
  cudaFreeAsync(ticket, stream);
}
)";
  for (int secret = 0; secret < secrets; ++secret) {
    const Verdict verdict = judge_with(suite_task("row_scale_f16"), "#include <cuda_fp16.h>\n" + kernel, secret);
    EXPECT_EQ(verdict.status, VerdictStatus::race) << describe(verdict);
    ASSERT_FALSE(verdict.findings.empty());
    EXPECT_EQ(verdict.findings.front().kind, "order_dependent");
  }
}

// What is wrong in every order is not the order's fault.
TEST(Order, AWrongValueIsNotBlamedOnTheOrder) {
  const std::string kernel = R"(
__global__ void relu(const float* x, float* y, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) y[i] = i % 100 == 99 ? x[i] : fmaxf(x[i], 0.0f);
}
extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  relu<<<(n + 63) / 64, 64, 0, stream>>>(x, y, n);
}
)";
  for (int secret = 0; secret < secrets; ++secret) {
    const Verdict verdict = judge_with(suite_task("relu"), kernel, secret);
    EXPECT_EQ(verdict.status, VerdictStatus::wrong) << describe(verdict);
  }
}

TEST(UnusualInputs, ASoftmaxWithoutItsMaximumIsFound) {
  for (int secret = 0; secret < secrets; ++secret) {
    const Verdict verdict = judge_with(suite_task("softmax"), R"(
__global__ void softmax(const float* x, float* y, int cols) {
  float sum = 0.0f;
  for (int i = 0; i < cols; ++i) sum += expf(x[blockIdx.x * cols + i]);
  for (int i = threadIdx.x; i < cols; i += blockDim.x) y[blockIdx.x * cols + i] = expf(x[blockIdx.x * cols + i]) / sum;
}
extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  softmax<<<rows, 64, 0, stream>>>(x, y, cols);
}
)",
                                       secret);
    EXPECT_EQ(verdict.status, VerdictStatus::wrong) << describe(verdict);
  }
}

// The same sums, the variance by difference or of what is left after the mean.
std::string variance_kernel(bool difference) {
  return R"(
__global__ void variance(const float* x, float* y, int rows, int cols) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f, squares = 0.0f;
  for (int i = 0; i < cols; ++i) {
    sum += x[row * cols + i];
    squares += x[row * cols + i] * x[row * cols + i];
  }
  float mean = sum / cols, rest = 0.0f;
  for (int i = 0; i < cols; ++i) rest += (x[row * cols + i] - mean) * (x[row * cols + i] - mean);
  y[row] = )" +
         std::string(difference ? "(squares - sum * mean) / (cols - 1)" : "rest / (cols - 1)") + R"(;
}
extern "C" void launch(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  variance<<<(rows + 31) / 32, 32, 0, stream>>>(x, y, rows, cols);
}
)";
}

TEST(UnusualInputs, AVarianceByDifferenceIsFoundAndTwoPassesAreRight) {
  for (int secret = 0; secret < secrets; ++secret) {
    const Verdict careless = judge_with(suite_task("row_var"), variance_kernel(true), secret);
    EXPECT_EQ(careless.status, VerdictStatus::wrong) << describe(careless);
    const Verdict careful = judge_with(suite_task("row_var"), variance_kernel(false), secret);
    EXPECT_EQ(careful.status, VerdictStatus::correct) << describe(careful);
  }
}

// Each step starts a few steps back, from nothing: enough where factors are drawn between 0 and 1.
TEST(UnusualInputs, ARecurrenceWithAShortMemoryIsFound) {
  for (int secret = 0; secret < secrets; ++secret) {
    const Verdict verdict = judge_with(suite_task("linear_recurrence"), R"(
__global__ void recur(const float* a, const float* b, float* h, int rows, int steps) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows * steps) return;
  int row = i / steps, t = i % steps;
  float state = 0.0f;
  for (int k = max(0, t - 40); k <= t; ++k) state = a[row * steps + k] * state + b[row * steps + k];
  h[i] = state;
}
extern "C" void launch(const float* a, const float* b, float* h, int rows, int steps, cudaStream_t stream) {
  recur<<<(rows * steps + 63) / 64, 64, 0, stream>>>(a, b, h, rows, steps);
}
)",
                                       secret);
    EXPECT_EQ(verdict.status, VerdictStatus::wrong) << describe(verdict);
  }
}

std::string histogram_kernel(int mask) {
  return R"(
__global__ void count(const int* x, int* counts, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(counts + x[i], 1);
}
__global__ void keep(int* counts, int bins) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < bins) counts[i] &= )" +
         std::to_string(mask) + R"(;
}
extern "C" void launch(const int* x, int* counts, int count_, int bins, cudaStream_t stream) {
  cudaMemsetAsync(counts, 0, bins * sizeof(int), stream);
  count<<<(count_ + 255) / 256, 256, 0, stream>>>(x, counts, count_);
  keep<<<(bins + 255) / 256, 256, 0, stream>>>(counts, bins);
}
)";
}

TEST(UnusualInputs, CountersOfEightAndSixteenBitsAreFound) {
  for (int secret = 0; secret < 3; ++secret) {
    for (const int mask : {0xff, 0xffff}) {
      const Verdict verdict = judge_with(suite_task("histogram"), histogram_kernel(mask), secret);
      EXPECT_EQ(verdict.status, VerdictStatus::wrong) << mask << " " << describe(verdict);
    }
    const Verdict verdict = judge_with(suite_task("histogram"), histogram_kernel(0x7fffffff), secret);
    EXPECT_EQ(verdict.status, VerdictStatus::correct) << describe(verdict);
  }
}

}  // namespace
}  // namespace kw
