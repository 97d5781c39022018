#pragma once
// Names that a file has under plain nvcc without declaring them: nvcc puts its run-time library, and with it a part of
// the C and C++ libraries, in front of every file, and g++'s headers bring more than their names say. NVRTC has none of
// that. What of it a source uses is included for it, nothing else, because every header costs compile time; a name that
// nvcc would not know stays unknown.

#include <string_view>
#include <vector>

#include "kernel/source/lexer.h"

namespace kw {

// The headers of the set (headers.h) that declare what the source uses. In a fixed order: they become part of the
// canonical source, and so of the cache's key.
std::vector<std::string_view> implicit_headers(const TokenStream& stream);

// g++ and nvcc tell a file who they are; NVRTC's own headers must not see that. So the user's tokens alone say
// `kw_host___GNUC__`, which kw_host_compiler.h defines, and `__CUDACC_RTC__` becomes a name that nobody defines.
bool is_host_compiler_macro(std::string_view name);
inline constexpr std::string_view host_compiler_prefix = "kw_host_";

}  // namespace kw
