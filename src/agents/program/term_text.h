#pragma once
// Terms as CUDA C++: what is used more than once, or would make a line too long, becomes a local constant.

#include <functional>
#include <string>
#include <vector>

#include "agents/program/graph.h"

namespace kw::program {

struct TermNames {
  std::function<std::string(std::int64_t place)> axis;  // "i0"
  // Of what a load reads: an element at an offset, converted to the load's type.
  std::function<std::string(const Term& load, const std::string& offset)> element;
  std::function<std::string()> local;  // a name that nothing has yet
};

struct TermText {
  std::vector<std::string> lines;   // `const float v1 = ...;`
  std::vector<std::string> values;  // of the terms that were asked for
};

// A load's one index is its offset.
TermText write_terms(const Graph& graph, const std::vector<TermId>& terms, const TermNames& names);

// In CUDA C++, of a type that numbers are computed in.
std::string number_text(const Term& constant);

}  // namespace kw::program
