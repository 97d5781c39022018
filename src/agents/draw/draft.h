#pragma once
// A program while it is drawn: its inputs, its sizes and its PyTorch text so far. A value knows its shape both as text
// (an expression of size names) and as numbers at all sizes of the task, so that a stage can see whether a window fits
// without evaluating anything.

#include <array>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "kernel/task/task.h"

namespace kw::programs {

// Two small sizes and one to train at.
inline constexpr std::size_t size_count = 3;

struct Dim {
  std::string text;
  std::array<std::int64_t, size_count> at{};

  bool is_constant() const { return at[0] == at[1] && at[0] == at[2]; }
  std::int64_t least() const { return std::min(at[0], std::min(at[1], at[2])); }
  bool divides_by(std::int64_t factor) const;
};
Dim fixed(std::int64_t value);
bool same(const Dim& left, const Dim& right);
Dim plus(const Dim& dim, std::int64_t number);
Dim times(const Dim& left, const Dim& right);
Dim over(const Dim& dim, std::int64_t divisor);  // rounds down
using Dims = std::vector<Dim>;

inline constexpr double unbounded = std::numeric_limits<double>::infinity();

struct Value {
  std::string name;
  Dims dims;
  Dtype dtype = Dtype::float32;
  // Its elements are no results of arithmetic: comparisons and places of extremes mean the same in every precision.
  bool exact = false;
  double low = -unbounded, high = unbounded;  // where its elements lie for certain

  int rank() const { return static_cast<int>(dims.size()); }
  const Dim& dim(int axis) const { return dims[static_cast<std::size_t>(axis < 0 ? axis + rank() : axis)]; }
  bool floating() const { return is_floating_point(dtype); }
  bool bounded() const { return low >= -20 && high <= 20; }
  // Differences of its elements mean something: rounded to a half type, rows that are nearly constant are noise, which
  // a normalisation would make large.
  bool steady() const { return floating() && (exact || dtype == Dtype::float32); }
  std::int64_t elements(std::size_t size) const;
};

class Draft {
 public:
  explicit Draft(Random& drawn);

  Random& random;
  Dtype dtype = Dtype::float32;  // of the program's floating-point inputs

  // Choices.
  bool chance(double share) { return random.uniform() < share; }
  std::int64_t between(std::int64_t low, std::int64_t high) { return random.integer(low, high); }
  template <class Choices>
  const auto& pick(const Choices& choices) {
    return *(std::begin(choices) + random.integer(0, static_cast<std::int64_t>(std::size(choices)) - 1));
  }
  template <class Choice>
  Choice pick(std::initializer_list<Choice> choices) {
    return *(choices.begin() + random.integer(0, static_cast<std::int64_t>(choices.size()) - 1));
  }
  std::string constant(double low, double high);  // "0.37"
  int axis(const Value& x) { return static_cast<int>(between(0, x.rank() - 1)); }
  // An axis as text: half of the time counted from the end.
  std::string axis_text(const Value& x, int axis);

  // Sizes. None is a multiple of 13, which is left to what is held out.
  Dim size(std::initializer_list<std::string_view> names, std::int64_t small_low, std::int64_t small_high,
           std::int64_t train_low, std::int64_t train_high, std::int64_t multiple = 1);
  Dims plain_dims(int rank);
  // [batch, channels, axes...] for windows, with a constant number of channels.
  Dims image_dims(int axes, std::int64_t channels);

  // Inputs.
  Value input(std::initializer_list<std::string_view> names, const Dims& dims, Dtype type, Values values = {});
  Value normal(std::initializer_list<std::string_view> names, const Dims& dims);
  Value uniform(std::initializer_list<std::string_view> names, const Dims& dims, double low, double high);
  Value indices(std::initializer_list<std::string_view> names, const Dims& dims, const Dim& below);

  // Adds a line `name = text`; the result is not exact unless that is said.
  Value say(const std::string& text, const Dims& dims, Dtype type);
  Value say(const std::string& text, const Value& like) { return say(text, like.dims, like.dtype); }
  // A size in the text: a number, or a parameter of the function.
  std::string size_text(const Dim& dim);

  // More results than the last one.
  std::vector<Value> extra_results;

  // The task; `result` is the last stage's.
  Task finish(const Value& result);
  bool has_line() const { return !lines_.empty(); }

 private:
  std::string free_name(std::initializer_list<std::string_view> names);

  Task task_;
  std::vector<std::string> taken_;
  std::vector<std::pair<std::string, std::array<std::int64_t, size_count>>> sizes_;
  std::vector<std::string> size_parameters_;
  std::string lines_;
  int values_ = 0;
};

}  // namespace kw::programs
