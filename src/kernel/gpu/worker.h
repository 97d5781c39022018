#pragma once
// The GPU worker: this program started again with a hidden first argument. It opens the device, gives up what it does
// not need any more, and then executes launch plans, never host code. It is disposable: after a fault, or when it
// does not answer in time, it is thrown away with its context.

#include <optional>

namespace kw {

inline constexpr const char* gpu_worker_argument = "--gpu-worker";

// Every program that uses a GpuPool calls this first in main() and ends with the value, if there is one.
std::optional<int> run_if_gpu_worker(int argc, char** argv);

}  // namespace kw
