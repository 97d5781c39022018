#pragma once
// One call of NVRTC, in this process.

#include <cstdint>

#include "kernel/compile/headers.h"
#include "kernel/compile/nvrtc.h"
#include "kernel/compile/wire.h"

namespace kw {

// The name that the compiler knows the source by; the pool puts the user's name in its place.
inline constexpr const char* compiled_file_name = "kernel.cu";

// More log, PTX and cubin together than `output_limit_bytes` are cut off; `over_limit` says so.
struct LimitedOutput {
  CompilerOutput output;
  bool over_limit = false;
};

LimitedOutput run_nvrtc(const Nvrtc& nvrtc, const HeaderSet& headers, const CompilerJob& job,
                        std::uint64_t output_limit_bytes);

}  // namespace kw
