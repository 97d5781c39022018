#pragma once
// Whole-number expressions over size names, as used in shapes and value bounds: `(width - 3) / 2 + 1`.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kw {

// Values for all size names of a task, e.g. {rows: 7, cols: 129}.
using Sizes = std::map<std::string, std::int64_t>;

class Expression {
 public:
  Expression() : Expression(0) {}
  explicit Expression(std::int64_t constant);

  static Result<Expression> parse(std::string_view text);

  // An unknown name, a division by zero and an overflow of 64 bits are errors.
  Result<std::int64_t> evaluate(const Sizes& sizes) const;

  // Names in the order in which they appear, each once.
  const std::vector<std::string>& names() const { return names_; }
  const std::string& text() const { return text_; }

 private:
  // Reverse Polish: an operator works on the top of the value stack.
  struct Step {
    char kind;  // 'c' constant, 'n' name, otherwise the operator itself; '~' is the unary minus
    std::int64_t constant = 0;
    std::size_t name = 0;  // index into names_
  };
  friend class ExpressionParser;

  std::string text_;
  std::vector<Step> steps_;
  std::vector<std::string> names_;
};

// Reads "rows=7,cols=129".
Result<Sizes> parse_sizes(std::string_view text);
// Writes it.
std::string to_string(const Sizes& sizes);

}  // namespace kw
