#pragma once
// How a kernel is written down, apart from what it does: names, comments, constants, the launcher's form. Drawn at
// random, so that no two people seem to have written the kernels.

#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"

namespace kw {

struct Style {
  bool comments = true;
  bool restrict_pointers = true;
  bool const_locals = true;       // const int i = ...
  bool four_spaces = false;       // indentation
  bool helper_functions = true;   // activations as __device__ functions
  bool function_form = false;     // the element's arithmetic as one __device__ function
  bool block_constant = false;    // the block size as a constant of the file
  bool early_return = true;       // if (i >= n) return; instead of if (i < n) { ... }
  bool load_first = true;         // operands into locals before they are used
  bool name_by_operand = true;    // ... which are called after them
  bool rename_in_kernel = false;  // the kernel's parameters have other names than the launcher's
  bool dim3_launch = false;
  bool launch_locals = true;  // threads and blocks as locals of the launcher
  bool pre_increment = true;
  bool force_inline = false;
  bool align_parameters = false;  // long parameter lists under the first one
  // Expressions as the task has them, each one nested expression in a function of its own, operands under the task's
  // names; and lines as long as they come out. What has to be learned is then to translate word for word.
  bool formulas = false;
  int index_form = 0;     // of blockIdx.x * blockDim.x + threadIdx.x
  int ceil_div_form = 0;  // (a + b - 1) / b, a function, a macro
};
Style draw_style(Random& random);
void use_formulas(Style& style);

// Gives each thing one name that nothing else of the file has.
class Names {
 public:
  explicit Names(Random& random) : random_(random) {}
  void reserve(const std::string& name) { used_.insert(name); }
  bool used(const std::string& name) const { return used_.count(name) + file_.count(name) > 0; }
  // One of the candidates that is free; with a number behind it when none is.
  std::string pick(std::initializer_list<std::string_view> candidates);
  // The same for a name of the file: it stays taken when a scope ends.
  std::string pick_for_file(std::initializer_list<std::string_view> candidates);

  // Names picked while it lives are free again afterwards: locals of one loop.
  class Scope {
   public:
    explicit Scope(Names& names) : names_(names), before_(names.used_) {}
    ~Scope() { names_.used_ = std::move(before_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Names& names_;
    std::set<std::string> before_;
  };

 private:
  bool take(const std::string& name) { return file_.count(name) == 0 && used_.insert(name).second; }

  Random& random_;
  std::set<std::string> used_;
  std::set<std::string> file_;
};

// A template's places `$name` and what stands there. A value of several lines on a line of its own takes that line's
// indentation; an empty one removes the line.
using Fields = std::vector<std::pair<std::string_view, std::string>>;
std::string fill(std::string_view text, const Fields& fields);

// The finished file: comments kept or dropped, indentation, empty lines.
std::string lay_out(const std::string& text, const Style& style);

// One of the values.
std::string pick_one(Random& random, std::initializer_list<std::string_view> values);

}  // namespace kw
