#pragma once
// Large inputs made by torch where they are needed, on a GPU in milliseconds: the bytes that draw() makes, bit for bit.

#include "kernel/reference/reference.h"
#include "kernel/reference/torch/torch_headers.h"

namespace kw {

// `input` has a recipe, which is sound, and its table. Throws torch's exceptions.
at::Tensor drawn_tensor(const InputTensor& input, Device device);

// Rounded to the next coarser type and back, as the judge's coarse_inputs() does; whole numbers stay.
at::Tensor coarse_tensor(const at::Tensor& tensor);

}  // namespace kw
