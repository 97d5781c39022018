#pragma once
// The judge's helpers are this program started again: compilers, references and GPU workers.

#include <optional>

namespace kw {

// Every program that judges calls this first in main() and ends with the value, if there is one.
std::optional<int> run_if_worker(int argc, char** argv);

}  // namespace kw
