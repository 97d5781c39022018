#pragma once
// Which nodes of a graph become stages, each with a kernel and memory of its own, and which are computed inside of
// those that read them. An element-wise expression costs no memory; a reduction is computed where its one reader,
// element for element, needs it, so that bias and activation behind a product are part of the product's kernel.

#include <vector>

#include "agents/program/attention.h"
#include "agents/program/graph.h"

namespace kw::program {

struct Stage {
  NodeId node = -1;
  // A block computes one element together: few elements, each of a long reduction. Else one thread an element.
  bool block_an_element = false;
};

struct Schedule {
  std::vector<Stage> stages;     // in the order in which they run
  std::vector<bool> own_memory;  // by node: an input, or a stage
};

// `sizes`: what the work is estimated at. `attentions`: stages that read less than their nodes say.
Schedule make_schedule(Graph& graph, const Sizes& sizes, const std::map<NodeId, Attention>& attentions = {});

}  // namespace kw::program
