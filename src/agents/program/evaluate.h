#pragma once
// A graph's outputs, computed element by element in double precision: slow, for comparing a graph with a reference at
// small sizes. It knows nothing of how kernels are written, so it is a check on the reader of programs alone.

#include <vector>

#include "agents/program/graph.h"
#include "base/result.h"
#include "kernel/task/input_values.h"

namespace kw::program {

// Row-major; `real` for floating-point types, `whole` for all others.
struct EvaluatedTensor {
  std::vector<std::int64_t> shape;
  std::vector<double> real;
  std::vector<std::int64_t> whole;
};

struct EvaluateLimits {
  std::int64_t elements = 20'000'000;  // of one tensor
  std::int64_t steps = 400'000'000;    // elements that bodies are computed for, all tensors together
};

// An index beyond a tensor's end is an error: a graph guards its loads.
Result<std::vector<EvaluatedTensor>> evaluate_graph(const Graph& graph, const Sizes& sizes,
                                                    const std::vector<InputTensor>& inputs,
                                                    const EvaluateLimits& limits = {});

}  // namespace kw::program
