#include "kernel/source/host_tensor.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "kernel/task/task.h"

namespace kw {
namespace {

// From c10/core/ScalarType.h.
constexpr std::array<ScalarTypeName, 9> scalar_types = {{{0, "Byte", "kUInt8", "kByte", Dtype::uint8},
                                                         {1, "Char", "kInt8", "kChar", Dtype::int8},
                                                         {3, "Int", "kInt32", "kInt", Dtype::int32},
                                                         {4, "Long", "kInt64", "kLong", Dtype::int64},
                                                         {5, "Half", "kFloat16", "kHalf", Dtype::float16},
                                                         {6, "Float", "kFloat32", "kFloat", Dtype::float32},
                                                         {7, "Double", "kFloat64", "kDouble", Dtype::float64},
                                                         {11, "Bool", "kBool", "", Dtype::boolean},
                                                         {15, "BFloat16", "kBFloat16", "", Dtype::bfloat16}}};

}  // namespace

std::optional<ScalarTypeName> scalar_type_named(std::string_view name) {
  for (const ScalarTypeName& type : scalar_types) {
    if (name == type.name || name == type.constant || (!name.empty() && name == type.synonym)) return type;
  }
  return std::nullopt;
}

std::optional<ScalarTypeName> scalar_type_numbered(std::int64_t number) {
  for (const ScalarTypeName& type : scalar_types) {
    if (type.number == number) return type;
  }
  return std::nullopt;
}

ScalarTypeName scalar_type_of(Dtype dtype) {
  const auto found = std::find_if(scalar_types.begin(), scalar_types.end(),
                                  [&](const ScalarTypeName& type) { return type.dtype == dtype; });
  KW_CHECK(found != scalar_types.end());
  return *found;
}

const HostType* element_type(Dtype dtype, const TypeTable& types) {
  switch (dtype) {
    case Dtype::float32:
      return types.basic(TypeKind::float_);
    case Dtype::float64:
      return types.basic(TypeKind::double_);
    case Dtype::float16:
      return types.torch_named("Half");
    case Dtype::bfloat16:
      return types.torch_named("BFloat16");
    case Dtype::int32:
      return types.basic(TypeKind::int_);
    case Dtype::int64:
      return types.basic(TypeKind::long_);
    case Dtype::int8:
      return types.basic(TypeKind::schar);
    case Dtype::uint8:
      return types.basic(TypeKind::uchar);
    case Dtype::boolean:
      return types.basic(TypeKind::bool_);
  }
  return types.basic(TypeKind::float_);
}

std::optional<Dtype> dtype_of_element(const HostType& element, const TypeTable& types) {
  for (const ScalarTypeName& type : scalar_types) {
    if (element_type(type.dtype, types) == element.plain) return type.dtype;
  }
  return std::nullopt;
}

std::int64_t TensorValue::elements() const { return tensor_element_count(sizes).value_or(0); }

bool TensorValue::is_contiguous() const {
  if (elements() == 0) return true;
  std::int64_t expected = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 1) continue;  // its stride does not matter
    if (strides[i] != expected) return false;
    expected *= sizes[i];
  }
  return true;
}

std::vector<std::int64_t> contiguous_strides(const std::vector<std::int64_t>& sizes) {
  std::vector<std::int64_t> strides(sizes.size());
  std::int64_t next = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = next;
    next *= std::max<std::int64_t>(sizes[i], 1);
  }
  return strides;
}

std::optional<std::int64_t> tensor_element_count(const std::vector<std::int64_t>& sizes) {
  if (sizes.size() > max_tensor_dimensions) return std::nullopt;
  // Factors are bounded even where another one is 0, so that strides never overflow.
  std::int64_t bounded = 1;
  bool empty = false;
  for (const std::int64_t size : sizes) {
    if (size < 0 || size > max_tensor_elements) return std::nullopt;
    empty = empty || size == 0;
    bounded *= std::max<std::int64_t>(size, 1);
    if (bounded > max_tensor_elements) return std::nullopt;
  }
  return empty ? 0 : bounded;
}

std::optional<std::vector<std::int64_t>> inferred_sizes(std::vector<std::int64_t> sizes, std::int64_t elements) {
  std::int64_t* open = nullptr;
  std::vector<std::int64_t> known;
  for (std::int64_t& size : sizes) {
    if (size == -1) {
      if (open != nullptr) return std::nullopt;
      open = &size;
    } else {
      known.push_back(size);
    }
  }
  const std::optional<std::int64_t> product = tensor_element_count(known);
  if (!product) return std::nullopt;
  if (open == nullptr) return *product == elements ? std::optional(sizes) : std::nullopt;
  if (*product == 0 || elements % *product != 0) return std::nullopt;
  *open = elements / *product;
  return sizes;
}

// As at::detail::computeStride does it: runs of dimensions that lie in memory as one can be cut anew.
std::optional<std::vector<std::int64_t>> view_strides(const TensorValue& tensor,
                                                      const std::vector<std::int64_t>& sizes) {
  if (tensor.elements() == 0) {
    return tensor.sizes == sizes ? tensor.strides : contiguous_strides(sizes);
  }
  std::vector<std::int64_t> strides(sizes.size(), 1);
  if (tensor.sizes.empty()) return strides;
  auto view = static_cast<std::ptrdiff_t>(sizes.size()) - 1;
  std::int64_t base = tensor.strides.back();
  std::int64_t run = 1, covered = 1;
  for (std::size_t d = tensor.sizes.size(); d-- > 0;) {
    run *= tensor.sizes[d];
    const bool ends = d == 0 || (tensor.sizes[d - 1] != 1 && tensor.strides[d - 1] != run * base);
    if (!ends) continue;
    while (view >= 0 && (covered < run || sizes[static_cast<std::size_t>(view)] == 1)) {
      strides[static_cast<std::size_t>(view)] = covered * base;
      covered *= sizes[static_cast<std::size_t>(view)];
      --view;
    }
    if (covered != run) return std::nullopt;
    if (d > 0) {
      base = tensor.strides[d - 1];
      run = covered = 1;
    }
  }
  if (view != -1) return std::nullopt;
  return strides;
}

}  // namespace kw
