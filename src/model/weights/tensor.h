#pragma once
// A tensor as it lies in a file: name, element type, shape, bytes. No arithmetic; what computes lives elsewhere.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kw {

// In the order in which safetensors sorts them (largest alignment last); its writer depends on it.
enum class ElementType { boolean, u8, i8, f8_e5m2, f8_e4m3, i16, f16, bf16, i32, f32, f64, i64 };

using Shape = std::vector<std::int64_t>;  // slowest dimension first, as in PyTorch

std::size_t bytes_of(ElementType type);
std::string_view safetensors_name(ElementType type);  // "BF16"
std::optional<ElementType> element_type_from_safetensors(std::string_view name);
std::string_view torch_name(ElementType type);  // "bfloat16"
std::optional<ElementType> element_type_from_torch(std::string_view name);

std::string to_string(const Shape& shape);  // "[49152, 576]"

// Nothing when a dimension is negative or the product does not fit 63 bits.
std::optional<std::int64_t> element_count(const Shape& shape);

struct TensorView {
  std::string name;
  ElementType type = ElementType::f32;
  Shape shape;
  std::span<const std::byte> bytes;  // not aligned to more than a byte
};

// Converts any floating-point type (F64 is rounded); integers and booleans are refused by name. `out` has one float
// for each element.
Result<void> read_floats(const TensorView& tensor, std::span<float> out);
Result<std::vector<float>> read_floats(const TensorView& tensor);

// Floats as F32, F16 or BF16, rounded to nearest even.
Result<std::vector<std::byte>> encode_floats(std::span<const float> values, ElementType type);

}  // namespace kw
