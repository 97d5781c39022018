#pragma once
// A name for what a CUDA file says, however it is laid out and whatever its own names are: two files with the same
// fingerprint have the same tokens up to a consistent renaming of what they declare.

#include <string>
#include <string_view>

namespace kw {

// 64 hexadecimal digits. Comments, white space, line continuations and the names of the file's own variables,
// functions, types and macros do not count; keywords, built-ins, library names, members of CUDA's types and literals
// do.
std::string fingerprint(std::string_view source);

}  // namespace kw
