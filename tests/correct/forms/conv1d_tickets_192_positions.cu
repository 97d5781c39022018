// task: conv1d
// honest: persistent blocks draw (image, eight channels, 192 positions) by ticket; two positions a thread, short windows in shared memory.
constexpr int threads = 96, span = 2 * threads, outs = 8, ins = 8, most_taps = 16;

__global__ void __launch_bounds__(threads) convolve(const float* __restrict__ x, const float* __restrict__ weight,
                                                    const float* __restrict__ bias, float* __restrict__ y, int batch, int in_channels,
                                                    int length, int out_channels, int taps, unsigned* ticket) {
  __shared__ float line[ins][span + most_taps - 1];
  __shared__ float factor[outs][ins][most_taps];
  __shared__ unsigned drawn;
  const int out_length = length - taps + 1;
  const unsigned pieces = (out_length + span - 1) / span, groups = (out_channels + outs - 1) / outs, work = batch * groups * pieces;
  unsigned w = blockIdx.x;
  while (w < work) {
    const int begin = w % pieces * span, out0 = w / pieces % groups * outs, image = w / (pieces * groups);
    float sum[outs][2] = {};
    for (int in0 = 0; in0 < in_channels; in0 += ins) {
      for (int i = threadIdx.x; i < ins * (span + taps - 1); i += threads) {
        const int ch = i / (span + taps - 1), at = i % (span + taps - 1);
        const bool there = in0 + ch < in_channels && begin + at < length;
        line[ch][at] = there ? x[((size_t)image * in_channels + in0 + ch) * length + begin + at] : 0.0f;
      }
      for (int i = threadIdx.x; i < outs * ins * taps; i += threads) {
        const int o = i / (ins * taps), ch = i / taps % ins;
        const bool there = out0 + o < out_channels && in0 + ch < in_channels;
        factor[o][ch][i % taps] = there ? weight[((size_t)(out0 + o) * in_channels + in0 + ch) * taps + i % taps] : 0.0f;
      }
      __syncthreads();
      for (int ch = 0; ch < ins; ++ch) {
        for (int t = 0; t < taps; ++t) {
          const float u = line[ch][threadIdx.x + t], v = line[ch][threads + threadIdx.x + t];
#pragma unroll
          for (int o = 0; o < outs; ++o) {
            sum[o][0] = fmaf(u, factor[o][ch][t], sum[o][0]);
            sum[o][1] = fmaf(v, factor[o][ch][t], sum[o][1]);
          }
        }
      }
      __syncthreads();
    }
#pragma unroll
    for (int o = 0; o < outs; ++o) {
      if (out0 + o < out_channels) {
        float* to = y + ((size_t)image * out_channels + out0 + o) * out_length;
        const int at = begin + threadIdx.x;
        if (at < out_length) to[at] = sum[o][0] + bias[out0 + o];
        if (at + threads < out_length) to[at + threads] = sum[o][1] + bias[out0 + o];
      }
    }
    if (threadIdx.x == 0) drawn = gridDim.x + atomicAdd(ticket, 1u);
    __syncthreads();
    w = drawn;
    __syncthreads();
  }
}

// For windows that do not fit into the shared arrays.
__global__ void convolve_long(const float* __restrict__ x, const float* __restrict__ weight, const float* __restrict__ bias,
                              float* __restrict__ y, int batch, int in_channels, int length, int out_channels, int taps) {
  const int out_length = length - taps + 1;
  const size_t total = (size_t)batch * out_channels * out_length;
  for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < total; i += (size_t)gridDim.x * blockDim.x) {
    const int at = i % out_length, o = i / out_length % out_channels, image = i / ((size_t)out_length * out_channels);
    float sum = bias[o];
    for (int ch = 0; ch < in_channels; ++ch) {
      for (int t = 0; t < taps; ++t) {
        sum = fmaf(x[((size_t)image * in_channels + ch) * length + at + t], weight[((size_t)o * in_channels + ch) * taps + t], sum);
      }
    }
    y[i] = sum;
  }
}

extern "C" void launch(const float* x, const float* weight, const float* bias, float* y, int batch, int in_channels, int length,
                       int out_channels, int taps, cudaStream_t stream) {
  if (taps > most_taps) {
    convolve_long<<<1056, 256, 0, stream>>>(x, weight, bias, y, batch, in_channels, length, out_channels, taps);
    return;
  }
  const int work = batch * ((out_channels + outs - 1) / outs) * ((length - taps + span) / span);
  unsigned* ticket;
  cudaMallocAsync(&ticket, sizeof(unsigned), stream);
  cudaMemsetAsync(ticket, 0, sizeof(unsigned), stream);
  convolve<<<work < 528 ? work : 528, threads, 0, stream>>>(x, weight, bias, y, batch, in_channels, length, out_channels, taps, ticket);
  cudaFreeAsync(ticket, stream);
}
