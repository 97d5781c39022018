#pragma once
// The element types a task may use, and how each is written in CUDA C++.

#include <cstddef>
#include <optional>
#include <string_view>

namespace kw {

enum class Dtype { float32, float16, bfloat16, float64, int32, int64, int8, uint8, boolean };
inline constexpr std::size_t dtype_count = 9;

std::string_view name_of(Dtype dtype);       // "float32"
std::string_view cuda_type_of(Dtype dtype);  // "float"
std::size_t bytes_of(Dtype dtype);
bool is_floating_point(Dtype dtype);
std::optional<Dtype> dtype_from_name(std::string_view name);

}  // namespace kw
