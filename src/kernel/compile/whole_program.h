#pragma once
// A complete CUDA program, host code and all, compiled by nvcc in a sandbox: what the compilers say, and what each
// kernel needs. Nothing is linked, and nothing of it is ever run. nvcc and the host compiler see the toolkit, the
// system's headers and compilers, and the text; no other file, no network, no other process.

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "kernel/compile/architecture.h"
#include "kernel/compile/diagnostics.h"
#include "kernel/compile/resources.h"

namespace kw {

inline constexpr std::size_t max_whole_program_bytes = std::size_t{4} << 20;

struct WholeProgramOptions {
  GpuArchitecture architecture = GpuArchitecture::sm_90;
  std::chrono::seconds wall{120};
  std::size_t memory_bytes = std::size_t{8} << 30;   // address space of each process
  std::size_t scratch_bytes = std::size_t{1} << 29;  // of all files that the compilers write
};

struct WholeProgramKernel {
  std::string name;  // "scale<3>(float*, int)"
  std::string symbol;
  KernelResources resources;
};

struct WholeProgram {
  bool compiled = false;
  std::string problem;  // why not, where no diagnostic says so: a limit, a compiler that died
  std::vector<Diagnostic> diagnostics;
  std::vector<WholeProgramKernel> kernels;
  double compile_ms = 0;
};

// KERNELWRIGHT_NVCC, then beside the CUDA headers, in /usr/local/cuda and on the PATH. The error says how to get one.
Result<std::filesystem::path> find_nvcc();

// An error where it cannot be tried: no nvcc, no host compiler, no sandbox on this machine, a text that is too long.
Result<WholeProgram> compile_whole_program(const std::string& text, const std::string& file_name,
                                           const WholeProgramOptions& options = {});

}  // namespace kw
