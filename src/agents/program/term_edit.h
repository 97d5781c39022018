#pragma once
// Terms as something to look into and to change.

#include <vector>

#include "agents/program/graph.h"

namespace kw::program {

// All loads in a term, also those in indices of loads, each once.
std::vector<TermId> loads_in(const Graph& graph, TermId root);

// The same term with `by` for `what`.
TermId replaced(Graph& graph, TermId term, TermId what, TermId by);

}  // namespace kw::program
