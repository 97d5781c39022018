#pragma once
// Sizes that the judge makes up, beside those that the task's file has. All of them keep what the declared sizes share
// (size_rules.h), so a kernel that is right for what the task asks is right for them.

#include <cstdint>
#include <vector>

#include "kernel/judge/size_rules.h"
#include "kernel/task/task.h"

namespace kw {

// Of all tensors of the task together.
std::int64_t elements_of(const Task& task, const Sizes& sizes);

// Sizes like the task's small ones that the task's file does not have, where the rules leave any. They take about as
// much work as the small ones, whatever the kernel does: none has more elements or a larger product of all its values
// than the largest small one, unless there is no other.
std::vector<Sizes> hidden_sizes(const Task& task, std::uint64_t seed, int count);

// Halved until the task's tensors have at most so many elements, or nothing can be halved any more.
Sizes shrink(const Task& task, Sizes sizes, std::int64_t most_elements);

// The train sizes, halved until they are small: what kernels do for sizes that are multiples of something (vector
// loads, full tiles), they do there too.
std::vector<Sizes> shrunk_sizes(const Task& task);

// One size name at a train value, the others as small as the task has them: what is fixed to small sizes (a
// row that must fit into a buffer) shows there, at little cost. Those that are still too large to emulate are left out.
std::vector<Sizes> stretched_sizes(const Task& task);

}  // namespace kw
