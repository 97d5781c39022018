#pragma once
// Where the result of attention goes; for attention.cpp.

#include <vector>

#include "agents/program/addressing.h"
#include "agents/program/attention.h"

namespace kw::program {

// Equal, or equal at all these sizes.
bool same_at(const std::vector<Sizes>& sizes, const Extent& one, const Extent& other);

// Sets `stage` and `places`: a reader that only puts the result in another order is its stage. `addressing`: resolves
// maps.
void find_stage(Graph& graph, Addressing& addressing, const std::vector<Sizes>& sizes, Attention& attention);

}  // namespace kw::program
