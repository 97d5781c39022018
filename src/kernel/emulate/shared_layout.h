#pragma once
// Where a kernel's shared variables lie. The addresses are those that ptxas gives them as far as anybody can rely on or
// be surprised by: equal to the real ones modulo `shared_period_bytes`, so that a variable is aligned here exactly when
// it is aligned on the GPU. In between lie red zones, which the GPU does not have.
//
// The real layout: variables of the module, then the kernel's, then those of functions that it calls, in the order of
// their declarations, each at the next multiple of its own alignment; dynamic memory begins behind them at a multiple
// of 16, or of what the module's extern arrays ask for. From compute capability 9.0 on the first kilobyte belongs to
// the system (CUDA C++ Programming Guide, "Compute Capabilities": 1 KB is reserved for each block).

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "kernel/emulate/decode_function.h"

namespace kw {

inline constexpr std::uint32_t shared_period_bytes = 1024;
// Of each block, for the system; from compute capability 9.0 on in front of the first variable.
inline constexpr std::uint32_t system_shared_bytes = 1024;

std::uint64_t size_of(const PtxVariable& variable);

// "sm_90a" has 1,024 bytes in front of the first variable, "sm_80" none.
std::uint32_t reserved_shared_bytes(const std::string& target);

// `functions`: by index in the module, the kernel first; `symbols`: the names that they use.
Result<void> lay_out_shared(const PtxModule& module, const std::vector<std::uint32_t>& functions,
                            const std::set<std::string, std::less<>>& symbols, DecodeContext& context);

}  // namespace kw
