#pragma once
// Files of PyTorch's extension dialect: `torch::Tensor forward(torch::Tensor x, ...)` in place of `launch`. Which
// function of the file is meant, found by reading; its host code is interpreted like a launcher's.

#include "kernel/source/host_syntax.h"

namespace kw {

// Headers of PyTorch by their folder: torch/extension.h, ATen/cuda/CUDAContext.h.
bool is_torch_header(std::string_view name);
bool includes_torch(const std::vector<IncludeLine>& includes);

// Whether the file is to be read as an extension: it includes PyTorch's headers and has no `launch` for the task, or
// says itself what it offers to Python.
bool is_extension(const HostProgram& program);

// The function that Python would call: what the module exports as `forward`, its only export, the function `forward`,
// or the only function that returns tensors.
Result<const FunctionSyntax*> find_extension_entry(const HostProgram& program);

}  // namespace kw
