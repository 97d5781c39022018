#pragma once
// Texts whose outputs can be computed for some elements alone.

#include "base/result.h"
#include "kernel/reference/torch/torch_headers.h"

namespace kw {

// An error, unless each element of what the text returns depends on the inputs' elements at its own place alone, with
// PyTorch's broadcasting, and on numbers. It names the first operation of which that is not known.
Result<void> check_elementwise(const torch::jit::CompilationUnit& unit);

}  // namespace kw
