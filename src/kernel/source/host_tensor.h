#pragma once
// A tensor of an extension file's host code, without its numbers: which memory, which type, which shape. Views are
// computed as PyTorch does it; what would need a copy is refused by who calls.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "kernel/source/host_type.h"
#include "kernel/source/launch_plan.h"
#include "kernel/task/dtype.h"

namespace kw {

struct TensorValue {
  DevicePointer data;
  const HostType* element = nullptr;  // float, c10::Half, long ...
  bool on_gpu = true;
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;  // in elements

  std::int64_t elements() const;
  bool is_contiguous() const;
};

// c10::ScalarType's numbers.
struct ScalarTypeName {
  int number;
  std::string_view name;      // ScalarType::Float
  std::string_view constant;  // torch::kFloat32
  std::string_view synonym;   // torch::kFloat; empty if there is none
  Dtype dtype;
};
std::optional<ScalarTypeName> scalar_type_named(std::string_view name);  // by any of the three names
std::optional<ScalarTypeName> scalar_type_numbered(std::int64_t number);
ScalarTypeName scalar_type_of(Dtype dtype);

// What data_ptr<T>() has to be given for a dtype: int64_t is long, half is c10::Half.
const HostType* element_type(Dtype dtype, const TypeTable& types);
std::optional<Dtype> dtype_of_element(const HostType& element, const TypeTable& types);

inline constexpr std::size_t max_tensor_dimensions = 25;

std::vector<std::int64_t> contiguous_strides(const std::vector<std::int64_t>& sizes);
// The product, or nothing when it is over max_tensor_elements or a size is negative.
std::optional<std::int64_t> tensor_element_count(const std::vector<std::int64_t>& sizes);

// `sizes` with its one -1 replaced; nothing when it does not fit `elements`.
std::optional<std::vector<std::int64_t>> inferred_sizes(std::vector<std::int64_t> sizes, std::int64_t elements);
// The strides that let a view of the same memory have `sizes`; nothing when only a copy could.
std::optional<std::vector<std::int64_t>> view_strides(const TensorValue& tensor,
                                                      const std::vector<std::int64_t>& sizes);

}  // namespace kw
