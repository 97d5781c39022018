#pragma once
// Which of TorchScript's operators a reference may use. Everything that only computes is allowed; what reads or writes
// files, prints, draws random numbers, makes threads, or works on memory by hand is not.

#include "base/result.h"
#include "kernel/reference/torch/torch_headers.h"

namespace kw {

// Looks at every operation of every function of the text. The error names the first that is not allowed, and its line.
Result<void> check_operators(const torch::jit::CompilationUnit& unit);

}  // namespace kw
