#pragma once
// What a graph computes, as one number: the same for two graphs that differ in names, sizes, constants, element types,
// the order of commutative operands, layouts, or in how the text was cut into calls. Two programs of one signature are
// one program as far as holding out is concerned.
//
// It errs on the side of sameness: of an index only its kind counts (an axis; an axis from its end; a window; data), so
// a convolution is the same with any stride, padding, groups or number of axes, and a transposed operand is the
// operand.

#include <cstdint>
#include <string>

#include "agents/program/graph.h"

namespace kw::programs {

std::uint64_t signature_of(const program::Graph& graph);
std::string signature_text(std::uint64_t signature);  // 16 hexadecimal digits

}  // namespace kw::programs
