#pragma once
// What a task computes, as a graph in one spelling: `x.relu()`, `F.relu(x)` and `torch.clamp(x, min=0)` are the same
// term. Equal terms are one: a value that is written twice and a local that is used twice look the same.

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agents/grammar/scalar_expression.h"
#include "kernel/task/task.h"

namespace kw {

enum class TermKind : std::uint8_t {
  input,   // text: its name
  size,    // text: a size, by the name of its parameter
  number,  // text as it is printed, value
  word,    // text: None, True, "tanh", torch.float32, math.pi
  scalar,  // op, element by element; value for the ops that have one
  core,    // text: what is done, `sum`; numbers: its axes and other whole numbers
  python,  // anything else: text is the syntax, `call torch.log`, `method to`, `[]`; keys as Python has them
};

// Extents as texts over size names; nothing where it is not known.
using TermShape = std::optional<std::vector<std::string>>;

struct Term {
  TermKind kind = TermKind::word;
  std::string text;
  Op op = Op::operand;
  double value = 0;
  std::vector<int> parts;
  std::vector<std::string> keys;
  std::vector<std::int64_t> numbers;
  bool keeps_axis = false;  // a reduction with keepdim
  TermShape shape;
  bool floating = false;
  bool elementwise = false;  // python: a function of single numbers that the grammar does not have
};

class TermBook {
 public:
  static constexpr std::size_t most_terms = 4000;

  std::size_t size() const { return terms_.size(); }
  const Term& at(int id) const { return terms_[static_cast<std::size_t>(id)]; }
  // The place of an equal term, or of this one, new. -1 when there are too many or a part is missing.
  int add(Term term);

  int number(double value);
  int word(std::string text);
  int core(std::string what, std::vector<int> parts, std::vector<std::int64_t> numbers, TermShape shape,
           bool keeps_axis = false);

  bool is_core(int id, std::string_view what) const { return at(id).kind == TermKind::core && at(id).text == what; }
  bool is_op(int id, Op op) const { return at(id).kind == TermKind::scalar && at(id).op == op; }
  bool is_number(int id, double value) const { return at(id).kind == TermKind::number && at(id).value == value; }
  bool is_word(int id, std::string_view text) const { return at(id).kind == TermKind::word && at(id).text == text; }
  std::optional<std::int64_t> whole(int id) const;
  std::optional<int> rank(int id) const;
  // Made of numbers, sizes and inputs by value only.
  bool is_flat(int id) const;
  // No tensor has floating point: constants must stay as they are written.
  bool whole_numbers_only = false;

 private:
  std::deque<Term> terms_;  // terms stay where they are
  std::map<std::string, int> places_;
};

TermShape broadcast(const std::vector<TermShape>& shapes);

// Scalar operations, brought to the grammar's spelling.
int make_scalar(TermBook& book, Op op, int first, int second = -1, int third = -1, double value = 0);
int make_power(TermBook& book, int base, int exponent);
int make_clamp(TermBook& book, int value, int low, int high);  // -1 or None: no bound
int make_where(TermBook& book, int condition, int yes, int no);

}  // namespace kw
