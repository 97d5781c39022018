// task: histogram
// honest: every block counts in bins of its own (four copies when they are few), writes them to scratch, a second kernel adds the columns.
template <int Copies>
__global__ void __launch_bounds__(512) count_private(const int* __restrict__ x, unsigned* __restrict__ parts, int count, int bins) {
  extern __shared__ unsigned own[];
  for (int i = threadIdx.x; i < bins * Copies; i += 512) own[i] = 0;
  __syncthreads();
  unsigned* mine = own + threadIdx.x / 32 % Copies * bins;
  const int4* x4 = reinterpret_cast<const int4*>(x);
  const int vectors = count / 4, stride = gridDim.x * 512, self = blockIdx.x * 512 + threadIdx.x;
  int i = self;
  for (; i + 3 * stride < vectors; i += 4 * stride) {
    int4 v[4];
#pragma unroll
    for (int e = 0; e < 4; ++e) v[e] = x4[i + e * stride];
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      atomicAdd(mine + v[e].x, 1u);
      atomicAdd(mine + v[e].y, 1u);
      atomicAdd(mine + v[e].z, 1u);
      atomicAdd(mine + v[e].w, 1u);
    }
  }
  for (; i < vectors; i += stride) {
    const int4 v = x4[i];
    atomicAdd(mine + v.x, 1u);
    atomicAdd(mine + v.y, 1u);
    atomicAdd(mine + v.z, 1u);
    atomicAdd(mine + v.w, 1u);
  }
  if (self < count - vectors * 4) atomicAdd(mine + x[vectors * 4 + self], 1u);
  __syncthreads();
  for (int b = threadIdx.x; b < bins; b += 512) {
    unsigned sum = own[b];
#pragma unroll
    for (int c = 1; c < Copies; ++c) sum += own[c * bins + b];
    parts[(size_t)blockIdx.x * bins + b] = sum;
  }
}

__global__ void add_columns(const unsigned* __restrict__ parts, int* __restrict__ counts, int bins, int blocks) {
  const int b = blockIdx.x * 32 + threadIdx.x;
  __shared__ unsigned sums[8][32];
  unsigned sum = 0;
  if (b < bins) {
    for (int p = threadIdx.y; p < blocks; p += 8) sum += parts[(size_t)p * bins + b];
  }
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y > 0 || b >= bins) return;
  for (int j = 1; j < 8; ++j) sum += sums[j][threadIdx.x];
  counts[b] = (int)sum;
}

__global__ void count_global(const int* __restrict__ x, int* __restrict__ counts, int count) {
  for (int i = blockIdx.x * 256 + threadIdx.x; i < count; i += gridDim.x * 256) atomicAdd(counts + x[i], 1);
}

extern "C" void launch(const int* x, int* counts, int count, int bins, cudaStream_t stream) {
  if (bins > 12288) {
    cudaMemsetAsync(counts, 0, (size_t)bins * sizeof(int), stream);
    count_global<<<1056, 256, 0, stream>>>(x, counts, count);
    return;
  }
  const int blocks = max(1, min((count / 4 + 511) / 512, 396));
  unsigned* parts;
  cudaMallocAsync(&parts, (size_t)blocks * bins * sizeof(unsigned), stream);
  if (bins <= 1024) {
    count_private<4><<<blocks, 512, (size_t)bins * 4 * sizeof(unsigned), stream>>>(x, parts, count, bins);
  } else {
    count_private<1><<<blocks, 512, (size_t)bins * sizeof(unsigned), stream>>>(x, parts, count, bins);
  }
  add_columns<<<(bins + 31) / 32, dim3(32, 8), 0, stream>>>(parts, counts, bins, blocks);
  cudaFreeAsync(parts, stream);
}
