#pragma once
// The tokens of a function's lines; for python_text.cpp only.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kw {

struct PythonToken {
  enum class Kind : std::uint8_t { name, number, string, sign, line_end, end };
  Kind kind = Kind::end;
  std::string text;
  int line = 0;
  std::size_t begin = 0, end = 0;  // bytes of the text
};

// The line of the text that holds this byte, as what is not known.
Error unknown_line(std::string_view text, std::size_t at, std::string_view reader);

// A line inside brackets goes on. Comments and empty lines are left out. Indentation is not looked at: without loops
// and conditions there is only one block.
Result<std::vector<PythonToken>> python_tokens(std::string_view text, std::string_view reader);

}  // namespace kw
