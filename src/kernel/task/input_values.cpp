#include "kernel/task/input_values.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/random.h"

namespace kw {
namespace {

template <class T>
void store(std::string& bytes, std::int64_t index, T value) {
  std::memcpy(bytes.data() + static_cast<std::size_t>(index) * sizeof(T), &value, sizeof(T));
}

void store_number(std::string& bytes, Dtype dtype, std::int64_t index, double value) {
  switch (dtype) {
    case Dtype::float32:
      return store(bytes, index, static_cast<float>(value));
    case Dtype::float16:
      return store(bytes, index, float16_bits(static_cast<float>(value)));
    case Dtype::bfloat16:
      return store(bytes, index, bfloat16_bits(static_cast<float>(value)));
    case Dtype::float64:
      return store(bytes, index, value);
    default:
      KW_CHECK(false);
  }
}

void store_integer(std::string& bytes, Dtype dtype, std::int64_t index, std::int64_t value) {
  switch (dtype) {
    case Dtype::int32:
      return store(bytes, index, static_cast<std::int32_t>(value));
    case Dtype::int64:
      return store(bytes, index, value);
    case Dtype::int8:
      return store(bytes, index, static_cast<std::int8_t>(value));
    case Dtype::uint8:
      return store(bytes, index, static_cast<std::uint8_t>(value));
    case Dtype::boolean:
      return store(bytes, index, static_cast<std::uint8_t>(value != 0));
    default:
      return store_number(bytes, dtype, index, static_cast<double>(value));
  }
}

}  // namespace

std::uint16_t float16_bits(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return static_cast<std::uint16_t>(sign | 0x7FFFu);   // NaN
  if (magnitude >= 0x477FF000u) return static_cast<std::uint16_t>(sign | 0x7C00u);  // rounds to infinity
  if (magnitude < 0x38800000u) {
    // Below the smallest normal half (2^-14): the result counts units of 2^-24. Scaling is exact, and nearbyint rounds
    // to even.
    const float units = std::nearbyint(std::bit_cast<float>(magnitude) * 0x1.0p24f);
    return static_cast<std::uint16_t>(sign | static_cast<std::uint32_t>(units));
  }
  const std::uint32_t rounded = magnitude + 0x0FFFu + ((magnitude >> 13) & 1u);
  return static_cast<std::uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

float float_from_float16(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t exponent = (bits >> 10) & 31u;
  const std::uint32_t mantissa = bits & 0x3FFu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000u | (mantissa << 13));
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1.0p-24f;
    return sign ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

std::uint16_t bfloat16_bits(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return 0x7FFFu;
  return static_cast<std::uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

float float_from_bfloat16(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

Result<std::string> make_input_beginning(const Task& task, std::size_t place, const Sizes& sizes, std::uint64_t seed,
                                         std::int64_t limit) {
  const TensorSpec& spec = task.inputs.at(place);
  KW_TRY(std::int64_t elements, spec.elements_at(sizes));
  elements = std::min(elements, limit);
  std::string bytes(static_cast<std::size_t>(elements) * bytes_of(spec.dtype), '\0');
  Random random(seed, place);
  if (const auto* integers = std::get_if<IntegerValues>(&spec.values)) {
    KW_TRY(const std::int64_t low, integers->low.evaluate(sizes));
    KW_TRY(const std::int64_t high, integers->high.evaluate(sizes));
    if (low > high) return Error{"'" + spec.name + "' has its lower bound above the upper one", "", {}};
    for (std::int64_t i = 0; i < elements; ++i) store_integer(bytes, spec.dtype, i, random.integer(low, high));
  } else if (const auto* uniform = std::get_if<UniformValues>(&spec.values)) {
    for (std::int64_t i = 0; i < elements; ++i) {
      store_number(bytes, spec.dtype, i, random.uniform(uniform->low, uniform->high));
    }
  } else {
    for (std::int64_t i = 0; i < elements; ++i) store_number(bytes, spec.dtype, i, random.normal());
  }
  return bytes;
}

Result<std::vector<InputTensor>> make_inputs(const Task& task, const Sizes& sizes, std::uint64_t seed) {
  KW_TRY_VOID(task.check_sizes(sizes));
  std::vector<InputTensor> tensors;
  for (std::size_t place = 0; place < task.inputs.size(); ++place) {
    const TensorSpec& spec = task.inputs[place];
    InputTensor tensor{spec.name, spec.dtype, {}, {}};
    KW_TRY(tensor.shape, spec.shape_at(sizes));
    KW_TRY(tensor.bytes, make_input_beginning(task, place, sizes, seed, max_tensor_elements));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

}  // namespace kw
