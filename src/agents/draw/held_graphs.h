#pragma once
// Graphs that nothing is drawn of: those of KernelBench's problems of several operations, and those of held-out tasks
// of tasks/. Only their signatures are kept here, made by `kernelwright data graphs` (docs/draw.md).

#include <cstdint>
#include <span>

namespace kw::programs {

std::span<const std::uint64_t> held_graphs();  // ascending
bool is_held_out(std::uint64_t signature);

}  // namespace kw::programs
