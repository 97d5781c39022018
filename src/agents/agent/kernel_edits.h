#pragma once
// Small changes of a kernel's text that need no model and often pay: quicker mathematical functions of the hardware
// (`expf` -> `__expf`), quicker divisions, loops that are unrolled, pointers that do not alias. Each is found in the
// tokens and made in the text; everything else stays as it is, to the byte.
//
// Nothing here knows whether a changed kernel is still right (a quicker function is less exact): it is a proposal, and
// the judge judges it. A text may be anybody's; what is found is bounded.

#include <string>
#include <string_view>
#include <vector>

namespace kw {

struct KernelEdit {
  std::string kernel;
  std::string change;  // "expf -> __expf", "unroll 4 at line 12"
  std::string kind;    // "expf", "division", "unroll", "restrict"
};

inline constexpr std::size_t max_edited_kernel_bytes = std::size_t{32} << 10;
inline constexpr std::size_t most_kernel_edits = 48;

// All of them, each alone, in the order of the text within a kind. Empty for a text that is too long.
std::vector<KernelEdit> kernel_edits(std::string_view kernel);

}  // namespace kw
