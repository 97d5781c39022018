#pragma once
// The grammar of operations: random problems of every family.

#include "agents/grammar/problem.h"
#include "agents/grammar/role_names.h"
#include "base/random.h"

namespace kw {

// A random problem of the family. Whether it is held out is for held_out.h to say.
Problem draw_problem(Random& random, Family family);

// Parts that the families share.
struct GrammarParts {
  Random& random;
  Problem problem;
  std::vector<std::string> taken;

  explicit GrammarParts(Random& drawn, Family family);
  bool chance(double p) { return random.uniform() < p; }
  int pick(std::initializer_list<int> values);
  std::string name(RoleNames candidates);  // one that is not taken yet
  Dtype draw_dtype(double half_share, double integer_share);
  // Adds an operand and gives its index.
  int add(std::string name, std::string label, std::vector<std::string> shape, std::string torch = "");
  int add_scalar();
  void dim(std::string name, int small_low, int small_high, std::initializer_list<int> train);
  // An expression over these operands, with about `operators` operators.
  ScalarExpression expression(const std::vector<int>& operands, int operators);
  // pre or post as PyTorch text; `result` is the result's name.
  std::string torch(const ScalarExpression& expression, const std::string& result = "");
  // Ends the PyTorch text: `core`, then post where there is one.
  void finish_torch(const std::string& core, const std::string& before = "");
  // Post over the result, perhaps with further operands.
  void draw_post(const std::vector<int>& extra, double share, int operators);
  void no_post() { problem.post = operand_expression(problem.result_index()); }
};

// The length of a pooled or convolved axis, as a shape entry.
std::string window_extent(const std::string& length, int window, int stride, int padding);

// By group of families; each fills the problem that `parts` holds.
void draw_elementwise(GrammarParts& parts);
void draw_broadcast(GrammarParts& parts);
void draw_reduction(GrammarParts& parts);
void draw_row_norm(GrammarParts& parts);
void draw_movement(GrammarParts& parts);  // transposes, permutes, gathers, scatters
void draw_scan(GrammarParts& parts);
void draw_window(GrammarParts& parts);   // pooling and convolutions
void draw_product(GrammarParts& parts);  // matrix products and attention

}  // namespace kw
