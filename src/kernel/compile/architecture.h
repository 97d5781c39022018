#pragma once
// The GPU generations that kernels are compiled for.

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace kw {

// The number is the compute capability: 9.0 is 90. The `a` variants add instructions that no later GPU has (wgmma,
// ...).
enum class GpuArchitecture { sm_80, sm_86, sm_89, sm_90, sm_90a, sm_100, sm_100a };

inline constexpr std::array all_architectures = {
    GpuArchitecture::sm_80,  GpuArchitecture::sm_86,  GpuArchitecture::sm_89,  GpuArchitecture::sm_90,
    GpuArchitecture::sm_90a, GpuArchitecture::sm_100, GpuArchitecture::sm_100a};

std::string_view to_string(GpuArchitecture architecture);                        // "sm_90"
std::optional<GpuArchitecture> architecture_from_string(std::string_view text);  // "sm_90", "90" and "9.0"
int compute_capability(GpuArchitecture architecture);                            // 90

}  // namespace kw
