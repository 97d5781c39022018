#pragma once
// The Python of a task's `pytorch` text: one function of assignments and a return, without loops or conditions. An
// error names what is not of that kind; the task is not wrong because of it.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kw {

enum class PythonKind : std::uint8_t {
  name,       // `...` too
  number,     // text as written, without its sign
  string,     // text without quotes
  constant,   // None, True, False
  minus,      // parts: operand
  invert,     // `~`; parts: operand
  binary,     // text: + - * / // % ** @ & | ^ << >>; parts: left, right
  compare,    // text: < <= > >= == !=; parts: left, right
  call,       // parts: callee, arguments; keys: of the arguments
  attribute,  // text: its name; parts: object
  subscript,  // parts: object, index
  slice,      // parts: from, to, step; -1 where it is left out
  tuple,
  list,
};

struct PythonNode {
  PythonKind kind = PythonKind::name;
  std::string text;
  std::vector<int> parts;         // places in PythonFunction::nodes
  std::vector<std::string> keys;  // call: one for each argument, empty where it goes by position
  // Where it stands in the text: bytes from begin to end, begin being in this line (the first is 1).
  int line = 0;
  std::size_t begin = 0, end = 0;
};

struct PythonParameter {
  std::string name;
  bool whole_number = false;  // `cols: int`: one of the task's sizes
};

struct PythonAssignment {
  std::vector<std::string> names;  // more than one: `a, b = value`
  int value = -1;
};

struct PythonFunction {
  std::vector<PythonParameter> parameters;
  std::vector<PythonAssignment> assignments;
  std::vector<int> results;       // what is returned: more than one where the return has commas
  std::vector<PythonNode> nodes;  // parts stand before what they are part of
};

struct PythonLimits {
  std::size_t bytes = std::size_t{16} << 10;
  std::size_t nodes = 2000;
  int depth = 60;
  std::string_view reader = "the agents' normal form";  // who does not know what, in errors
};

Result<PythonFunction> parse_python(std::string_view text, const PythonLimits& limits = {});

// "READER does not know WHAT (line 3)"; line 0: none is named.
Error not_known(std::string_view what, int line = 0, std::string_view reader = PythonLimits{}.reader);
// A piece of the text in backticks, on one line and not longer than people read.
std::string quoted(std::string_view piece);

}  // namespace kw
