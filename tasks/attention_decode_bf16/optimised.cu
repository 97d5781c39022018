#include <cuda_bf16.h>
#include <cfloat>

// The cache is read once and sets the time, so each head is split into chunks of 256 keys to fill the machine. A block
// softmaxes its chunk on its own; a second kernel rescales the chunks' outputs to a common maximum and adds them.
constexpr int warp_size = 32;
constexpr int lanes = 16;   // threads that share a key
constexpr int groups = 16;  // keys at once
constexpr int threads = lanes * groups;
constexpr int warps = threads / warp_size;
constexpr int chunk = 256;  // one key a thread in the softmax

template <int width>
struct alignas(width * sizeof(__nv_bfloat16)) Pack {
  __nv_bfloat16 at[width];
};

__device__ float sum_over(float value, int width) {
  for (int offset = width / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
  return value;
}

__device__ float block_max(float value) {
  __shared__ float partial[warps];
  for (int offset = warp_size / 2; offset > 0; offset /= 2) {
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
  }
  if (threadIdx.x % warp_size == 0) partial[threadIdx.x / warp_size] = value;
  __syncthreads();
  float top = partial[0];
  for (int w = 1; w < warps; ++w) top = fmaxf(top, partial[w]);
  return top;
}

__device__ float block_sum(float value) {
  __shared__ float partial[warps];
  value = sum_over(value, warp_size);
  if (threadIdx.x % warp_size == 0) partial[threadIdx.x / warp_size] = value;
  __syncthreads();
  float sum = 0.0f;
  for (int w = 0; w < warps; ++w) sum += partial[w];
  return sum;
}

// Block (x, y): chunk x of head y. Leaves the chunk's maximum, sum and unscaled output.
template <int width>
__global__ void __launch_bounds__(threads)
    attend_chunk(const __nv_bfloat16* __restrict__ q, const __nv_bfloat16* __restrict__ k,
                 const __nv_bfloat16* __restrict__ v, float* __restrict__ tops, float* __restrict__ sums,
                 float* __restrict__ outputs, int dim, int length) {
  __shared__ float weights[chunk];
  __shared__ float partial[groups][lanes * width];
  const int part = blockIdx.y * gridDim.x + blockIdx.x;
  const int first = blockIdx.x * chunk;
  const int keys = min(chunk, length - first);
  const int packs = dim / width;
  const int lane = threadIdx.x % lanes, group = threadIdx.x / lanes;
  const auto* query = reinterpret_cast<const Pack<width>*>(q) + static_cast<size_t>(blockIdx.y) * packs;
  const size_t start = (static_cast<size_t>(blockIdx.y) * length + first) * packs;
  const auto* key = reinterpret_cast<const Pack<width>*>(k) + start;
  const auto* value = reinterpret_cast<const Pack<width>*>(v) + start;

  const float scale = rsqrtf(static_cast<float>(dim));
#pragma unroll 4
  for (int base = 0; base < chunk; base += groups) {
    const int i = base + group;
    float dot = 0.0f;
    if (i < keys) {
      for (int p = lane; p < packs; p += lanes) {
        const Pack<width> a = query[p];
        const Pack<width> b = key[static_cast<size_t>(i) * packs + p];
#pragma unroll
        for (int w = 0; w < width; ++w) dot += __bfloat162float(a.at[w]) * __bfloat162float(b.at[w]);
      }
    }
    dot = sum_over(dot, lanes);
    if (lane == 0) weights[i] = i < keys ? dot * scale : -FLT_MAX;
  }
  __syncthreads();

  const float score = weights[threadIdx.x];
  const float top = block_max(score);
  const float weight = threadIdx.x < keys ? __expf(score - top) : 0.0f;
  const float sum = block_sum(weight);
  weights[threadIdx.x] = weight;
  if (threadIdx.x == 0) {
    tops[part] = top;
    sums[part] = sum;
  }
  __syncthreads();

  for (int first_pack = 0; first_pack < packs; first_pack += lanes) {
    const int p = first_pack + lane;
    float out[width] = {};
    if (p < packs) {
#pragma unroll 4
      for (int i = group; i < keys; i += groups) {
        const Pack<width> a = value[static_cast<size_t>(i) * packs + p];
#pragma unroll
        for (int w = 0; w < width; ++w) out[w] += weights[i] * __bfloat162float(a.at[w]);
      }
    }
#pragma unroll
    for (int w = 0; w < width; ++w) partial[group][lane * width + w] = out[w];
    __syncthreads();
    const int column = first_pack * width + threadIdx.x;
    if (threadIdx.x < lanes * width && column < dim) {
      float result = 0.0f;
#pragma unroll
      for (int g = 0; g < groups; ++g) result += partial[g][threadIdx.x];
      outputs[static_cast<size_t>(part) * dim + column] = result;
    }
    __syncthreads();
  }
}

// One block a head: the chunks' outputs, rescaled to the highest maximum, over their rescaled sums.
__global__ void combine_chunks(const float* __restrict__ tops, const float* __restrict__ sums,
                               const float* __restrict__ outputs, __nv_bfloat16* __restrict__ y, int dim, int chunks) {
  const int first = blockIdx.x * chunks;
  float top = tops[first];
  for (int c = 1; c < chunks; ++c) top = fmaxf(top, tops[first + c]);
  float sum = 0.0f;
  for (int c = 0; c < chunks; ++c) sum += sums[first + c] * __expf(tops[first + c] - top);
  for (int d = threadIdx.x; d < dim; d += blockDim.x) {
    float out = 0.0f;
    for (int c = 0; c < chunks; ++c) {
      out += outputs[static_cast<size_t>(first + c) * dim + d] * __expf(tops[first + c] - top);
    }
    y[static_cast<size_t>(blockIdx.x) * dim + d] = __float2bfloat16(out / sum);
  }
}

extern "C" void launch(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v, __nv_bfloat16* y,
                       int batch, int heads, int dim, int length, cudaStream_t stream) {
  const int all_heads = batch * heads;
  const int chunks = (length + chunk - 1) / chunk;
  const size_t parts = static_cast<size_t>(all_heads) * chunks;
  float* scratch = nullptr;
  cudaMallocAsync(&scratch, parts * (2 + dim) * sizeof(float), stream);
  float* tops = scratch;
  float* sums = scratch + parts;
  float* outputs = scratch + 2 * parts;
  const dim3 grid(chunks, all_heads);
  if (dim % 8 == 0) {
    attend_chunk<8><<<grid, threads, 0, stream>>>(q, k, v, tops, sums, outputs, dim, length);
  } else {
    attend_chunk<1><<<grid, threads, 0, stream>>>(q, k, v, tops, sums, outputs, dim, length);
  }
  combine_chunks<<<all_heads, 128, 0, stream>>>(tops, sums, outputs, y, dim, chunks);
  cudaFreeAsync(scratch, stream);
}
