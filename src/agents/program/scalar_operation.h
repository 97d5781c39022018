#pragma once
// What is done to single numbers: one table says, for each operation, its name, how many operands it has, what type
// comes out, how CUDA C++ writes it and what it means. Printing, evaluating and writing kernels read the table; a new
// operation is a value here and a row there.

#include <array>
#include <cstdint>
#include <string_view>

#include "kernel/task/dtype.h"

namespace kw::program {

enum class ScalarOp : std::uint8_t {
  add,
  subtract,
  multiply,
  divide,
  floor_divide,
  remainder,
  truncated_remainder,
  power,
  minimum,
  maximum,
  atan2,
  ldexp,
  bit_and,
  bit_or,
  bit_xor,
  shift_left,
  shift_right,
  less,
  less_equal,
  equal,
  not_equal,
  logical_and,
  logical_or,
  logical_not,
  bit_not,
  negate,
  absolute,
  sign,
  floor,
  ceil,
  round,
  truncate,
  square_root,
  reciprocal_root,
  exp,
  exp2,
  expm1,
  log,
  log2,
  log10,
  log1p,
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  tanh,
  asinh,
  acosh,
  atanh,
  erf,
  erfc,
  lgamma,
  is_nan,
  is_infinite,
  frexp_exponent,
  select,  // condition, value where it holds, value where it does not
  cast,    // to the term's own type
};
inline constexpr std::size_t scalar_op_count = static_cast<std::size_t>(ScalarOp::cast) + 1;

// A number on its way through an expression: `real` where its type is floating point, else `whole`.
struct Scalar {
  double real = 0;
  std::int64_t whole = 0;
};

struct ScalarOperation {
  ScalarOp op;
  std::string_view name;  // "multiply"
  std::string_view sign;  // "*": written between two operands; empty where it is a call
  int operands;
  // CUDA C++ with $0, $1, $2 for operands; float32, float64 and whole numbers. Empty: not for such numbers.
  std::string_view cuda_float, cuda_double, cuda_whole;
  int cost;                        // in instructions, roughly: whether it pays to compute it once
  double (*real)(double, double);  // nullptr: not for such numbers
  std::int64_t (*whole)(std::int64_t, std::int64_t);
};

const ScalarOperation& operation_of(ScalarOp op);
bool gives_bool(ScalarOp op);  // comparisons and logic

// The type that operands of these types are computed in and that a tensor of this type has while it is: float32 for
// half types, else the type itself.
Dtype computed_as(Dtype dtype);
// What a whole number becomes in this type: it wraps around.
std::int64_t wrapped(std::int64_t value, Dtype dtype);
Scalar cast_scalar(const Scalar& value, Dtype from, Dtype to);

}  // namespace kw::program
