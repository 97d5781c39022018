// AdamW over flat parameters: the master values, their copy for computing (unless null), and the gradient cleared, in
// one pass. `size` is a step's global size; everything is float but the copy.
extern "C" __global__ void adamw(float* values, float* gradient, float* first, float* second, bf16* copy, u64 size,
                                 float gradient_scale, float learning_rate, float beta1, float beta2, float epsilon,
                                 float decay, float correction1, float correction2_root) {
  const u64 stride = static_cast<u64>(gridDim.x) * blockDim.x;
  for (u64 i = static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x; i < size; i += stride) {
    const float g = gradient[i] * gradient_scale;
    const float m = beta1 * first[i] + (1 - beta1) * g, v = beta2 * second[i] + (1 - beta2) * g * g;
    float value = values[i] * (1 - learning_rate * decay);
    value -= learning_rate / correction1 * m / (sqrtf(v) / correction2_root + epsilon);
    first[i] = m;
    second[i] = v;
    values[i] = value;
    gradient[i] = 0;
    if (copy != nullptr) copy[i] = from_float<bf16>(value);
  }
}
