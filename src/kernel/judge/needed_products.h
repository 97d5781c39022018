#pragma once
// The matrix products and convolutions that a task's PyTorch text asks for by name, of its own inputs: what no kernel
// gets around. It errs on the side of less. Whatever it does not read (computed operands, einsum, loops) counts as
// nothing; so does what may be rearranged: of a product that is larger than the outputs, as in sum(a @ b), only as much
// as the outputs need.

#include "kernel/task/task.h"

namespace kw {

struct NeededProducts {
  double multiply_adds = 0;  // of the largest product; a convolution counts as one with a window of one element
  Dtype dtype = Dtype::float32;
};

// Zero multiply-adds where nothing is known to be needed.
NeededProducts needed_products(const Task& task, const Sizes& sizes);

}  // namespace kw
