#pragma once
// A kernel file while it is being written: its names, its style, the helper functions it needs so far.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "agents/grammar/problem.h"
#include "agents/grammar/style.h"

namespace kw {

class Draft {
 public:
  Draft(const Problem& problem, Level level, Random& random);

  const Problem& problem;
  const Level level;
  Random& random;
  Style style;
  Names names;

  std::string kernel;           // its name
  std::vector<std::string> in;  // the kernel's parameters, by operand
  std::string out;

  // The type that is computed with: float or int.
  std::string accumulator() const { return problem.integer() ? "int" : "float"; }
  std::string zero() const { return problem.integer() ? "0" : "0.0f"; }
  // `x[i]` as a number to compute with, whatever its type in memory.
  std::string load(int operand, const std::string& index) const;
  // `v` as a value that can be stored.
  std::string to_output(const std::string& value) const;
  static std::string from_memory(Dtype dtype, const std::string& text);
  static std::string to_memory(Dtype dtype, const std::string& text);

  // An expression over operands at their places. lines: what must stand before, value: the result.
  struct Element {
    std::string lines;
    std::string value;
  };
  using IndexOf = std::function<std::string(const Operand&)>;
  Element element(const ScalarExpression& expression, const IndexOf& index_of, const std::string& result = "");
  // The same with the operands' values given as texts, by operand; the result's is the last.
  Element element_of_values(const ScalarExpression& expression, const std::vector<std::string>& values);
  // As a __device__ function of the operands it uses (ascending), made at the first call; its name.
  std::string element_function(const ScalarExpression& expression);
  std::vector<int> operands_of(const ScalarExpression& expression) const;

  // `const float* __restrict__ x, float* y, int n`
  std::string parameters(const std::vector<std::string>& sizes) const;
  std::string arguments(const std::vector<std::string>& sizes) const;
  std::string launch_parameters() const;
  // The inputs alone, for kernels that write to scratch memory.
  std::string input_parameters() const;
  std::string input_arguments() const;

  // A name for the value of an operand: the same in every loop of the file, where it is free.
  std::string value_name(const Operand& operand);
  // `value`, or where it is long the name of a local that `lines` then makes of it.
  std::string named_if_long(const std::string& value, const std::string& name, std::string& lines);
  std::string same_name(const std::string& what, std::initializer_list<std::string_view> candidates);
  std::string local(const std::string& type) const { return style.const_locals ? "const " + type : type; }
  std::string ceil_div(const std::string& a, const std::string& b);
  // blockIdx.x * blockDim.x + threadIdx.x in one of its forms.
  std::string thread_index(const std::string& axis = "x") const;
  // The block size: a number, or the name of a constant of the file.
  std::string block_size(std::initializer_list<int> choices, int* number = nullptr);
  // Text in front of the kernel: constants, __device__ functions.
  void add_helper(const std::string& text);
  bool has_helper(const std::string& key) const;
  std::string device_function() const;
  std::string increment(const std::string& name) const { return style.pre_increment ? "++" + name : name + "++"; }

  // The launcher for one kernel over `count` threads.
  std::string launch_over(const std::string& count, const std::string& block, const std::vector<std::string>& sizes,
                          const std::string& setup = "");
  std::string launch_grid(const std::string& grid, const std::string& block, const std::vector<std::string>& sizes,
                          const std::string& setup = "");
  // Includes, helpers, body, launcher, laid out.
  std::string finish(std::string body, std::string launcher);

 private:
  std::string helpers_;
  std::vector<std::pair<const ScalarExpression*, std::string>> functions_;
  std::map<std::string, std::string> same_names_;  // by what they are given to
};

// fill() with what every template may use: $int, $kernel, $out, $acc, $zero ...
std::string fill(const Draft& draft, std::string_view text, Fields fields);

}  // namespace kw
