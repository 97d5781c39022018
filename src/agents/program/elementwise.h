#pragma once
// What lowers operations on each element alone.

#include <vector>

#include "agents/program/lowering.h"

namespace kw::program {

// A function of one tensor, in floating point; whole numbers become float32 first.
template <class Body>
Value of_real(Lowering& to, const Arguments& a, const Body& body) {
  const NodeId x = to.floating(to.tensor(a["input"]));
  return Value::of(to.elements(std::vector<NodeId>{x}, [&](const std::vector<TermId>& t) { return body(t[0]); }));
}

}  // namespace kw::program
