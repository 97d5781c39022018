#pragma once
// A task's PyTorch text as terms: locals are put in where they are used, every call is brought to one spelling.

#include "agents/normal_form/term.h"
#include "agents/program/python_text.h"

namespace kw {

// The place in the text that a term comes from.
struct Construct {
  std::string name;  // as the text has it, in backticks: a call by its function, anything else in full
  std::string full;  // a call with its arguments
  int line = 0;
};

struct Operation {
  TermBook book;
  std::vector<std::string> parameters;  // tensors and scalars, in the text's order; sizes are left out
  std::vector<int> results;             // one for each output
  std::map<int, std::string> locals;    // what the text calls a term
  std::map<int, Construct> constructs;  // where each term that is no input was first written
};

// An error names what is not understood.
Result<Operation> read_operation(const Task& task);

// A call, by position and by name; `name` as `torch.relu`, `F.relu` or `.relu` for a method of the first argument.
struct CallArguments {
  std::string name;
  std::vector<int> values;
  std::vector<std::string> keys;
};
int make_call(TermBook& book, const CallArguments& call);
// What stands in square brackets behind a term: `x[:, None]`, `torch.max(x, 1)[0]`, `table[ids]`.
int make_subscript(TermBook& book, int value, const std::vector<int>& entries);
int make_attribute(TermBook& book, int value, const std::string& name);
int make_matmul(TermBook& book, int left, int right);
int make_transpose(TermBook& book, int value, std::int64_t one, std::int64_t other);
// A syntax that is kept as it is.
int make_python(TermBook& book, std::string syntax, std::vector<int> parts, std::vector<std::string> keys = {},
                bool elementwise = false);

}  // namespace kw
