#pragma once
// Host functions of a file that its launcher cannot reach: `main`, a comparison with cuBLAS, a timer. Files of public
// code bases are full of them. No host code is ever run, so what stands in there does no harm.

#include <vector>

#include "kernel/source/rules_reading.h"

namespace kw {

// For each token whether it belongs to such a function. In doubt it does not: a function counts as reached when its
// name stands anywhere outside of functions that are not reached, when C++ may call it without naming it (operators,
// constructors, begin and end; members also when their class is named), and when macros or #if leave room for another
// reading of where it ends. Without a launcher everything is reached.
std::vector<bool> find_unreached_host_code(const RuleInput& input, const Reading& reading);

}  // namespace kw
