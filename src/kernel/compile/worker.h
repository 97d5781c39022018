#pragma once
// The compile worker: this program started again with a hidden first argument. It loads NVRTC and all headers, compiles
// a small kernel so that everything is warm, and enters the sandbox. Then every request is compiled in a fork of that
// state: no compilation can influence another, each has its own limits, and one that crashes or stalls costs only
// its fork.

#include <optional>

namespace kw {

inline constexpr const char* worker_argument = "--compile-worker";

// Every program that uses a CompilePool calls this first in main() and ends with the value, if there is one.
std::optional<int> run_if_compile_worker(int argc, char** argv);

}  // namespace kw
