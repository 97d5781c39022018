#pragma once
// Better kernels by the performance model, before a verdict is spent: from some kernels, changes (of their constants,
// or small edits) are looked at, then changes of the most promising of those, and so on. What comes out are proposals;
// whether they are right, and how long they really take, is for the judge to say.

#include <functional>
#include <string>
#include <vector>

#include "agents/search/kernel_look.h"
#include "agents/search/kernel_moves.h"
#include "base/random.h"
#include "base/result.h"

namespace kw {

struct DescentStart {
  int parent = -1;  // candidate
  std::string kernel;
  double known_us = 0;  // as it was judged or measured
  KernelLook look;
};

struct DescentFind {
  std::size_t start = 0;
  KernelMove move;         // from the start, whatever way led there
  double expected_us = 0;  // the start's time, changed as the model says; 0: not known
};

struct DescentLooks {
  std::function<Result<std::vector<KernelLook>>(const std::vector<std::string>&)> look_at;
  std::function<bool()> more;  // whether more looks may be spent
};

// The next change of a kernel that is not among the known ones, if there is any.
using NextMove =
    std::function<std::optional<KernelMove>(const std::string& kernel, const KnownKernel& known, Random& random)>;

// The fastest first, at most one of a text; those that cannot be built, and those that read less than their
// start, are left out. `known`: texts that were proposed
// before; they are neither proposed nor looked at.
Result<std::vector<DescentFind>> descend(const std::vector<DescentStart>& starts, const NextMove& next_move,
                                         const KnownKernel& known, const DescentLooks& looks, Random& random);

}  // namespace kw
