#include "kernel/task/dtype.h"

#include <array>

#include "base/check.h"

namespace kw {
namespace {

struct DtypeRow {
  Dtype dtype;
  std::string_view name;
  std::string_view cuda_type;
  std::size_t bytes;
  bool floating_point;
};

constexpr std::array<DtypeRow, dtype_count> dtype_rows{{
    {Dtype::float32, "float32", "float", 4, true},
    {Dtype::float16, "float16", "__half", 2, true},
    {Dtype::bfloat16, "bfloat16", "__nv_bfloat16", 2, true},
    {Dtype::float64, "float64", "double", 8, true},
    {Dtype::int32, "int32", "int", 4, false},
    {Dtype::int64, "int64", "long long", 8, false},
    {Dtype::int8, "int8", "signed char", 1, false},
    {Dtype::uint8, "uint8", "unsigned char", 1, false},
    {Dtype::boolean, "bool", "bool", 1, false},
}};

const DtypeRow& row_of(Dtype dtype) {
  const auto& row = dtype_rows.at(static_cast<std::size_t>(dtype));
  KW_CHECK(row.dtype == dtype);
  return row;
}

}  // namespace

std::string_view name_of(Dtype dtype) { return row_of(dtype).name; }
std::string_view cuda_type_of(Dtype dtype) { return row_of(dtype).cuda_type; }
std::size_t bytes_of(Dtype dtype) { return row_of(dtype).bytes; }
bool is_floating_point(Dtype dtype) { return row_of(dtype).floating_point; }

std::optional<Dtype> dtype_from_name(std::string_view name) {
  for (const auto& row : dtype_rows) {
    if (row.name == name) return row.dtype;
  }
  return std::nullopt;
}

}  // namespace kw
