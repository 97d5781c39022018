// AdamW with moments of 8 bits, as the CPU has them (model/decoder/trainable_part.cpp), to the same bits: blocks of 256
// elements share a largest magnitude, an element is an index into bitsandbytes' dynamic map, and of the second moment
// the root is stored.

// The map's value nearest to x; of two as near, the smaller: middles that lie below x are counted.
__device__ inline int nearest_code(float x, const float* middles) {
  int code = 0;
  for (int step = 128; step > 0; step >>= 1)
    if (middles[code + step - 1] < x) code += step;
  return code;
}

// The largest of a block of 256 threads, for every thread.
__device__ inline float block_largest(float value, float* scratch) {
  for (int offset = 16; offset > 0; offset >>= 1) value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
  __syncthreads();
  if ((threadIdx.x & 31) == 0) scratch[threadIdx.x >> 5] = value;
  __syncthreads();
  for (int i = 0; i < 8; ++i) value = fmaxf(value, scratch[i]);
  return value;
}

// Moments are in the program's order of elements, values and gradients in the device's: `pieces` of (first in the
// program's, first in the device's), ascending. `table`: the map, and the 255 middles between its values. 256 threads.
extern "C" __global__ void adamw_eight_bit(float* values, float* gradient, bf16* copy, unsigned char* first_codes,
                                           float* first_largest, unsigned char* second_codes, float* second_largest,
                                           const float* table, const u64* pieces, int piece_count, u64 size,
                                           float gradient_scale, float decay, float one_minus_beta1, float beta2,
                                           float one_minus_beta2, float root_bias2, float epsilon,
                                           float minus_step_size) {
  __shared__ float map[256], middles[256], scratch[8];
  __shared__ int first_piece;
  map[threadIdx.x] = table[threadIdx.x];
  if (threadIdx.x < 255) middles[threadIdx.x] = table[256 + threadIdx.x];
  for (u64 block = blockIdx.x; block * 256 < size; block += gridDim.x) {
    const u64 at = block * 256 + threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) {
      int low = 0, high = piece_count;  // the last piece that does not begin behind the block
      while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (pieces[2 * middle] <= block * 256) low = middle;
        else high = middle;
      }
      first_piece = low;
    }
    __syncthreads();
    float m = 0, root = 0;
    if (at < size) {
      int piece = first_piece;
      while (piece + 1 < piece_count && pieces[2 * (piece + 1)] <= at) ++piece;
      const u64 place = pieces[2 * piece + 1] + (at - pieces[2 * piece]);
      const float g = __fmul_rn(gradient[place], gradient_scale);
      m = __fmul_rn(map[first_codes[at]], first_largest[block]);
      m = __fmaf_rn(one_minus_beta1, __fsub_rn(g, m), m);
      root = __fmul_rn(map[second_codes[at]], second_largest[block]);
      const float v = __fmaf_rn(__fmul_rn(one_minus_beta2, g), g, __fmul_rn(__fmul_rn(root, root), beta2));
      root = __fsqrt_rn(v);
      const float below = __fadd_rn(__fdiv_rn(root, root_bias2), epsilon);
      const float value = __fmaf_rn(minus_step_size, __fdiv_rn(m, below), __fmul_rn(values[place], decay));
      values[place] = value;
      gradient[place] = 0;
      if (copy != nullptr) copy[place] = from_float<bf16>(value);
    }
    const float largest_m = block_largest(fabsf(m), scratch), largest_root = block_largest(root, scratch);
    if (at < size) {
      const float inverse_m = largest_m > 0 ? __fdiv_rn(1, largest_m) : 0.0f;
      const float inverse_root = largest_root > 0 ? __fdiv_rn(1, largest_root) : 0.0f;
      first_codes[at] = nearest_code(fminf(fmaxf(__fmul_rn(m, inverse_m), -1.0f), 1.0f), middles);
      const int code = nearest_code(fminf(__fmul_rn(root, inverse_root), 1.0f), middles);
      // Dividing by a moment that was rounded away would throw a weight out of the model.
      second_codes[at] = root > 0 ? max(code, 128) : code;
    }
    if (threadIdx.x == 0) {
      first_largest[block] = largest_m;
      second_largest[block] = largest_root;
    }
  }
}
