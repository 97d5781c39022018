#pragma once
// Small device functions that written kernels call.

#include <string>
#include <string_view>

namespace kw::program {

// Those that the text calls, with an empty line behind each.
std::string device_functions(std::string_view text);

}  // namespace kw::program
