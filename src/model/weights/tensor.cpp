#include "model/weights/tensor.h"

#include <array>

#include "base/check.h"
#include "model/weights/float_formats.h"

namespace kw {
namespace {

struct TypeRow {
  ElementType type;
  std::size_t bytes;
  std::string_view safetensors;
  std::string_view torch;
};

constexpr std::array<TypeRow, 12> type_rows{{
    {ElementType::boolean, 1, "BOOL", "bool"},
    {ElementType::u8, 1, "U8", "uint8"},
    {ElementType::i8, 1, "I8", "int8"},
    {ElementType::f8_e5m2, 1, "F8_E5M2", "float8_e5m2"},
    {ElementType::f8_e4m3, 1, "F8_E4M3", "float8_e4m3fn"},
    {ElementType::i16, 2, "I16", "int16"},
    {ElementType::f16, 2, "F16", "float16"},
    {ElementType::bf16, 2, "BF16", "bfloat16"},
    {ElementType::i32, 4, "I32", "int32"},
    {ElementType::f32, 4, "F32", "float32"},
    {ElementType::f64, 8, "F64", "float64"},
    {ElementType::i64, 8, "I64", "int64"},
}};

const TypeRow& row_of(ElementType type) { return type_rows.at(static_cast<std::size_t>(type)); }

template <class Stored, class Convert>
void convert_all(std::span<const std::byte> bytes, std::span<float> out, Convert convert) {
  const std::byte* from = bytes.data();
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = convert(load_unaligned<Stored>(from + i * sizeof(Stored)));
}

}  // namespace

std::size_t bytes_of(ElementType type) { return row_of(type).bytes; }
std::string_view safetensors_name(ElementType type) { return row_of(type).safetensors; }
std::string_view torch_name(ElementType type) { return row_of(type).torch; }

std::optional<ElementType> element_type_from_safetensors(std::string_view name) {
  for (const TypeRow& row : type_rows) {
    if (row.safetensors == name) return row.type;
  }
  return std::nullopt;
}

std::optional<ElementType> element_type_from_torch(std::string_view name) {
  if (name.starts_with("torch.")) name.remove_prefix(6);
  for (const TypeRow& row : type_rows) {
    if (row.torch == name) return row.type;
  }
  return std::nullopt;
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + "]";
}

std::optional<std::int64_t> element_count(const Shape& shape) {
  std::int64_t count = 1;
  bool empty = false;
  for (const std::int64_t size : shape) {
    if (size < 0) return std::nullopt;
    // A zero does not excuse an overflow of the others: readers multiply in any order.
    if (size == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(count, size, &count)) {
      return std::nullopt;
    }
  }
  return empty ? 0 : count;
}

Result<void> read_floats(const TensorView& tensor, std::span<float> out) {
  KW_CHECK(out.size() * bytes_of(tensor.type) == tensor.bytes.size());
  if (out.empty()) return {};
  switch (tensor.type) {
    case ElementType::f32:
      std::memcpy(out.data(), tensor.bytes.data(), tensor.bytes.size());
      return {};
    case ElementType::f64:
      convert_all<double>(tensor.bytes, out, [](double value) { return static_cast<float>(value); });
      return {};
    case ElementType::f16:
      convert_all<std::uint16_t>(tensor.bytes, out, float_of_f16);
      return {};
    case ElementType::bf16:
      convert_all<std::uint16_t>(tensor.bytes, out, float_of_bf16);
      return {};
    case ElementType::f8_e4m3:
      convert_all<std::uint8_t>(tensor.bytes, out, float_of_f8_e4m3);
      return {};
    case ElementType::f8_e5m2:
      convert_all<std::uint8_t>(tensor.bytes, out, float_of_f8_e5m2);
      return {};
    default:
      return Error{"the tensor '" + tensor.name + "' holds " + std::string(safetensors_name(tensor.type)) +
                       ", not floating-point numbers",
                   "",
                   {}};
  }
}

Result<std::vector<float>> read_floats(const TensorView& tensor) {
  std::vector<float> values(tensor.bytes.size() / bytes_of(tensor.type));
  KW_TRY_VOID(read_floats(tensor, values));
  return values;
}

Result<std::vector<std::byte>> encode_floats(std::span<const float> values, ElementType type) {
  std::vector<std::byte> bytes(values.size() * bytes_of(type));
  if (values.empty()) return bytes;
  if (type == ElementType::f32) {
    std::memcpy(bytes.data(), values.data(), bytes.size());
  } else if (type == ElementType::f16 || type == ElementType::bf16) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::uint16_t bits = type == ElementType::f16 ? f16_of_float(values[i]) : bf16_of_float(values[i]);
      std::memcpy(bytes.data() + i * 2, &bits, 2);
    }
  } else {
    return Error{"numbers cannot be stored as " + std::string(safetensors_name(type)), "use F32, F16 or BF16", {}};
  }
  return bytes;
}

}  // namespace kw
