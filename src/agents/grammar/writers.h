#pragma once
// Writing kernels: one function for each group of families.

#include <string>

#include "agents/grammar/draft.h"

namespace kw {

// A whole CUDA file for the problem at this level, which levels_of must list. formulas: as Style has it.
std::string write_kernel(const Problem& problem, Level level, Random& random, bool formulas = false);

std::string write_elementwise(Draft& draft);
std::string write_broadcast(Draft& draft);
std::string write_reduction(Draft& draft);       // over the last axis
std::string write_axis_reduction(Draft& draft);  // over other axes
std::string write_full_reduction(Draft& draft);
std::string write_arg_reduction(Draft& draft);
std::string write_row_norm(Draft& draft);
std::string write_transpose(Draft& draft);
std::string write_permute(Draft& draft);
std::string write_gather(Draft& draft);
std::string write_scan(Draft& draft);
std::string write_pooling(Draft& draft);
std::string write_convolution(Draft& draft);
std::string write_matmul(Draft& draft);

// Accesses of several elements.
struct VectorType {
  std::string type;  // float4, __half2
  int width = 4;
};
VectorType vector_type(Draft& draft);
// Lines that compute `width` neighbouring outputs at vector index `index`. `is_vector` says which operands are read as
// vectors there; the others' values come from `value_of`.
std::string vector_lines(Draft& draft, const VectorType& vector, const std::string& index,
                         const std::function<std::string(const Operand&)>& vector_index,
                         const std::function<std::string(const Operand&)>& value_of);

}  // namespace kw
