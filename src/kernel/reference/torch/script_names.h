#pragma once
// Names that ordinary PyTorch text uses and that TorchScript, compiled from C++, does not know: torch.float32,
// torch.nn.functional.x, F.x, math.pi, torch.linalg.x, and functions of torch.nn.functional that are written in Python.

#include <memory>

#include "kernel/reference/torch/torch_headers.h"

namespace kw {

torch::jit::ResolverPtr make_script_resolver();

}  // namespace kw
