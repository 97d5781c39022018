#pragma once
// The variables in global memory that a module brings along: where a kernel could keep something from one launch to the
// next.

#include <string>
#include <string_view>
#include <vector>

namespace kw {

// Names as cuModuleGetGlobal takes them, of a cubin (an ELF file) or of PTX text. What cannot be read has none.
std::vector<std::string> global_variables(std::string_view image);

}  // namespace kw
