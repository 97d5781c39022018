#pragma once
// What goes into a compilation and what comes out.

#include <cstdint>
#include <string>
#include <vector>

#include "kernel/compile/architecture.h"
#include "kernel/compile/canonical.h"
#include "kernel/compile/diagnostics.h"
#include "kernel/compile/resources.h"

namespace kw {

struct CompileLimits {
  int wall_ms = 20'000;
  int cpu_seconds = 15;
  std::uint64_t memory_bytes = std::uint64_t{2} << 30;  // for this one compilation, beyond the loaded compiler
  std::uint64_t output_bytes = 32u << 20;               // log, PTX and cubin together
  std::uint64_t source_bytes = 1u << 20;
  friend bool operator==(const CompileLimits&, const CompileLimits&) = default;
};

struct CompileRequest {
  std::string source;                // device code; the host's part is cut out, its lines are left empty
  std::string file_name;             // for diagnostics only
  std::vector<std::string> kernels;  // as C++ names them: "softmax", "reduce<256, float>"; empty: all that are defined
  GpuArchitecture architecture = GpuArchitecture::sm_90;
  bool want_cubin = true;  // without it only PTX is made: faster, no resources
  bool fast_math = false;
  CompileLimits limits;
};

enum class CompileStatus {
  compiled,
  compile_error,     // the source is wrong; see the diagnostics
  timeout,           // took longer than the limits allow
  out_of_memory,     // needed more memory than the limits allow
  output_too_large,  // more log, PTX or cubin than the limits allow
  compiler_crashed,  // the source made the compiler fail; nothing else was harmed
  rejected,          // not given to the compiler: too large, NUL bytes, invalid UTF-8
  internal_error,    // our fault or the machine's; the source may be good
};
std::string_view to_string(CompileStatus status);

struct CompiledKernel {
  std::string name;    // as the request named it, or the symbol where it named none
  std::string symbol;  // the entry point in PTX and cubin: "_Z7softmaxPKfPfii"
  KernelResources resources;
  friend bool operator==(const CompiledKernel&, const CompiledKernel&) = default;
};

struct CompileResult {
  CompileStatus status = CompileStatus::internal_error;
  std::string explanation;  // one sentence where the status is not `compiled`
  std::vector<Diagnostic> diagnostics;
  std::string ptx;    // .loc lines and columns are the user's
  std::string cubin;  // its line table counts canonical lines, see `lines`
  std::vector<CompiledKernel> kernels;
  LineMap lines;                // canonical line -> the user's line and column
  std::string ptx_fingerprint;  // equal for kernels that differ only in names, layout and line numbers
  std::string key;              // of the cache entry
  double compile_ms = 0;        // what the compiler took, also when the result comes from the cache
  bool from_cache = false;

  bool ok() const { return status == CompileStatus::compiled; }
};

}  // namespace kw
