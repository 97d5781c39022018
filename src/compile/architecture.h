#pragma once
// The GPU generations that kernels are compiled for.

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace kw {

// The number is the compute capability: 9.0 is 90. The `a` variants add instructions that no later GPU has (wgmma,
// ...).
enum class Architecture { sm_80, sm_86, sm_89, sm_90, sm_90a, sm_100, sm_100a };

inline constexpr std::array all_architectures = {Architecture::sm_80,  Architecture::sm_86,  Architecture::sm_89,
                                                 Architecture::sm_90,  Architecture::sm_90a, Architecture::sm_100,
                                                 Architecture::sm_100a};

std::string_view to_string(Architecture architecture);                        // "sm_90"
std::optional<Architecture> architecture_from_string(std::string_view text);  // "sm_90", "90" and "9.0"
int compute_capability(Architecture architecture);                            // 90
std::string_view example_device(Architecture architecture);                   // "H100, H200"

}  // namespace kw
