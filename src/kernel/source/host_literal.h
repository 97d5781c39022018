#pragma once
// Numbers and characters as they are written in the source, with the type that C++ gives them.

#include <string_view>

#include "base/result.h"
#include "kernel/source/host_value.h"

namespace kw {

// The errors carry no position; the interpreter adds it.
Result<HostValue> read_number(std::string_view text, const TypeTable& types);
Result<HostValue> read_character(std::string_view text, const TypeTable& types);

}  // namespace kw
