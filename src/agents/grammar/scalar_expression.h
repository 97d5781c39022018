#pragma once
// What is done to single numbers: a small tree of operators over operands and constants. It is written as PyTorch text
// for the task, as CUDA text for kernels, and in a canonical form that tells structures apart whatever the names,
// constants and order of commutative operands.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"

namespace kw {

enum class Op : std::uint8_t {
  operand,   // `index` names it
  constant,  // `value`
  add,
  subtract,
  multiply,
  divide,  // drawn only with a denominator that stays away from zero
  maximum,
  minimum,
  select,  // first > 0 ? second : third; the first is always an operand itself
  negate,
  absolute,
  square,
  relu,
  leaky_relu,  // slope `value`
  clamp,       // to [-value, value]
  sigmoid,
  hard_sigmoid,
  tanh,
  silu,
  gelu,
  gelu_tanh,
  elu,
  softplus,
  hard_swish,
  exp,  // drawn only of what is not positive
  log1p,
  sqrt,
  rsqrt,
  sin,
  cos,
};
std::string_view name_of(Op op);
int arity_of(Op op);

struct ScalarNode {
  Op op = Op::operand;
  int first = -1, second = -1, third = -1;  // places in nodes
  int index = 0;
  double value = 0;
};

struct ScalarExpression {
  std::vector<ScalarNode> nodes;  // children stand before their parents; the last one is the root

  // A single operand: nothing is done.
  bool trivial() const { return nodes.size() == 1 && nodes.front().op == Op::operand; }
  int uses_of(int operand) const;
};

// Operand `index` alone.
ScalarExpression operand_expression(int index);

// How an operand may be used.
struct OperandUse {
  int index = 0;
  bool scalar = false;    // by value: only in sums and products with something else
  bool positive = false;  // never zero or below: may be divided by
  bool computed = false;  // rounded already: no condition may hang on its sign
};

struct DrawLimits {
  int operators = 3;      // about how many
  bool integers = false;  // whole numbers only: no fractions, no transcendental functions
  int products = 2;       // factors multiply errors and overflow half precision
};

// A random expression that uses every one of the operands at least once.
ScalarExpression draw_expression(Random& random, const std::vector<OperandUse>& operands, const DrawLimits& limits);

// What it gives for these operands, by index.
double evaluate(const ScalarExpression& expression, const std::vector<double>& operands);

// PyTorch text; `names` by operand index.
std::string torch_text(const ScalarExpression& expression, const std::vector<std::string>& names);

// `add(full0,multiply(row0,c));...`, expression by expression, the least of all numberings of operands that share a
// label. labels: by operand index, what is known of the operand but its name ("full", "row", "scalar").
std::string canonical_text(const std::vector<const ScalarExpression*>& expressions,
                           const std::vector<std::string>& labels);

// CUDA text; `values` by operand index. `hoist` makes a local of an argument that is needed several times and gives its
// name; `helper` may define a __device__ function of `float v` with this name and formula, and says whether it did.
using HoistArgument = std::function<std::string(const std::string&)>;
using HelperFunction = std::function<bool(std::string_view, const std::string&)>;
// nested: one expression, sign for sign in the order of the PyTorch text; nothing is hoisted where `helper` helps.
std::string cuda_text(const ScalarExpression& expression, const std::vector<std::string>& values,
                      const HoistArgument& hoist, const HelperFunction& helper, bool integer, bool nested = false);

// "0.5f" or "0.5"; whole numbers as "2.0f" or "2".
std::string cuda_constant(double value, bool integer);
std::string torch_constant(double value);

}  // namespace kw
