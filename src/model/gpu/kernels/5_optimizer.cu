// AdamW over flat parameters: the master values, their copy for computing (unless null), and the gradient cleared, in
// one pass. Everything is float but the copy.
struct AdamW {
  float gradient_scale, learning_rate, beta1, beta2, epsilon, decay, correction1, correction2_root;

  __device__ void move(float& value, float gradient, float& first, float& second) const {
    const float g = gradient * gradient_scale;
    first = beta1 * first + (1 - beta1) * g;
    second = beta2 * second + (1 - beta2) * g * g;
    value = value * (1 - learning_rate * decay);
    value -= learning_rate / correction1 * first / (sqrtf(second) / correction2_root + epsilon);
  }
};

extern "C" __global__ void adamw(float* values, float* gradient, float* first, float* second, bf16* copy, u64 size,
                                 float gradient_scale, float learning_rate, float beta1, float beta2, float epsilon,
                                 float decay, float correction1, float correction2_root) {
  const AdamW rule = {gradient_scale, learning_rate, beta1, beta2, epsilon, decay, correction1, correction2_root};
  const u64 thread = static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x;
  const u64 stride = static_cast<u64>(gridDim.x) * blockDim.x;
  const u64 places = reinterpret_cast<u64>(values) | reinterpret_cast<u64>(gradient) | reinterpret_cast<u64>(first) |
                     reinterpret_cast<u64>(second) | (reinterpret_cast<u64>(copy) << 1);
  const u64 whole = places % 16 == 0 ? size / 4 : 0;  // four at a time where addresses allow it
  for (u64 p = thread; p < whole; p += stride) {
    const u64 i = 4 * p;
    float value[4], g[4], m[4], v[4];
    Pack<float>::load(values + i, value);
    Pack<float>::load(gradient + i, g);
    Pack<float>::load(first + i, m);
    Pack<float>::load(second + i, v);
    for (int k = 0; k < 4; ++k) {
      rule.move(value[k], g[k], m[k], v[k]);
      g[k] = 0;
    }
    Pack<float>::store(values + i, value);
    Pack<float>::store(gradient + i, g);
    Pack<float>::store(first + i, m);
    Pack<float>::store(second + i, v);
    if (copy != nullptr)
      *reinterpret_cast<uint2*>(copy + i) = make_uint2(pair_of(value[0], value[1]), pair_of(value[2], value[3]));
  }
  for (u64 i = 4 * whole + thread; i < size; i += stride) {
    rule.move(values[i], gradient[i], first[i], second[i]);
    gradient[i] = 0;
    if (copy != nullptr) copy[i] = from_float<bf16>(values[i]);
  }
}
