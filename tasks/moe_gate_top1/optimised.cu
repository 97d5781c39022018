#include <cfloat>

// A few lanes share a token, as many as its experts fill with 16-byte loads: a warp reads contiguous memory and one
// pass finds the highest logit, its expert and the sum of the exponentials below it.
constexpr int threads = 256;

template <int width>
struct alignas(width * sizeof(float)) Pack {
  float at[width];
};

// The highest logit, the first expert that has it, and the sum of exp(logit - top) over what has been seen.
struct Best {
  float top = -FLT_MAX;
  int expert = 0;
  float sum = 0.0f;

  __device__ void merge(float other_top, int other_expert, float other_sum) {
    const float highest = fmaxf(top, other_top);
    sum = sum * __expf(top - highest) + other_sum * __expf(other_top - highest);
    if (other_top > top || (other_top == top && other_expert < expert)) expert = other_expert;
    top = highest;
  }
};

template <int lanes, int width>
__global__ void gate_tokens(const float* __restrict__ logits, float* __restrict__ weight, int* __restrict__ index,
                            int tokens, int experts) {
  const int token = blockIdx.x * (threads / lanes) + threadIdx.x / lanes;
  const int lane = threadIdx.x % lanes;
  Best best;
  if (token < tokens) {
    const auto* row = reinterpret_cast<const Pack<width>*>(logits + static_cast<size_t>(token) * experts);
    for (int i = lane; i < experts / width; i += lanes) {
      const Pack<width> pack = row[i];
      float top = pack.at[0];
      int expert = i * width;
#pragma unroll
      for (int k = 1; k < width; ++k) {
        if (pack.at[k] > top) {
          top = pack.at[k];
          expert = i * width + k;
        }
      }
      float sum = 0.0f;
#pragma unroll
      for (int k = 0; k < width; ++k) sum += __expf(pack.at[k] - top);
      best.merge(top, expert, sum);
    }
  }
#pragma unroll
  for (int offset = lanes / 2; offset > 0; offset /= 2) {
    const float top = __shfl_xor_sync(0xffffffffu, best.top, offset);
    const int expert = __shfl_xor_sync(0xffffffffu, best.expert, offset);
    const float sum = __shfl_xor_sync(0xffffffffu, best.sum, offset);
    best.merge(top, expert, sum);
  }
  if (token < tokens && lane == 0) {
    weight[token] = 1.0f / best.sum;
    index[token] = best.expert;
  }
}

template <int lanes, int width>
void launch_tokens(const float* logits, float* weight, int* index, int tokens, int experts, cudaStream_t stream) {
  constexpr int tokens_per_block = threads / lanes;
  const int blocks = (tokens + tokens_per_block - 1) / tokens_per_block;
  gate_tokens<lanes, width><<<blocks, threads, 0, stream>>>(logits, weight, index, tokens, experts);
}

extern "C" void launch(const float* logits, float* weight, int* index, int tokens, int experts, cudaStream_t stream) {
  if (experts % 4 != 0) {
    launch_tokens<16, 1>(logits, weight, index, tokens, experts, stream);
  } else if (experts <= 16) {
    launch_tokens<2, 4>(logits, weight, index, tokens, experts, stream);
  } else {
    launch_tokens<16, 4>(logits, weight, index, tokens, experts, stream);
  }
}
