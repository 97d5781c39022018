#include "agents/draw/draft.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"

namespace kw::programs {
namespace {

constexpr std::int64_t held_out_factor = 13;

bool is_plain(std::string_view text) { return text.find(' ') == std::string_view::npos; }
std::string bracketed(const std::string& text) { return is_plain(text) ? text : "(" + text + ")"; }

Expression expression_of(const Dim& dim) {
  const auto parsed = Expression::parse(dim.text);
  KW_CHECK(parsed.ok());
  return *parsed;
}

}  // namespace

bool Dim::divides_by(std::int64_t factor) const {
  return std::all_of(at.begin(), at.end(), [&](std::int64_t value) { return value % factor == 0; });
}

Dim fixed(std::int64_t value) { return {std::to_string(value), {value, value, value}}; }

bool same(const Dim& left, const Dim& right) { return left.at == right.at && left.text == right.text; }

Dim plus(const Dim& dim, std::int64_t number) {
  if (number == 0) return dim;
  Dim made = dim;
  for (std::int64_t& value : made.at) value += number;
  if (dim.is_constant()) return fixed(made.at[0]);
  // `height - 2` and 3 is `height + 1`: what ends in a number behind a sign is a sum of it.
  const std::size_t space = made.text.rfind(' ');
  if (space != std::string::npos && space >= 2) {
    const char sign = made.text[space - 1];
    const std::string_view last = std::string_view(made.text).substr(space + 1);
    const bool is_number = std::all_of(last.begin(), last.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (is_number && (sign == '+' || sign == '-')) {
      const std::int64_t value = std::strtoll(made.text.c_str() + space + 1, nullptr, 10);
      number += sign == '+' ? value : -value;
      made.text.resize(space - 2);
    }
  }
  if (number == 0) return made;
  made.text += number > 0 ? " + " : " - ";
  made.text += std::to_string(std::abs(number));
  return made;
}

Dim times(const Dim& left, const Dim& right) {
  Dim made;
  for (std::size_t i = 0; i < size_count; ++i) made.at[i] = left.at[i] * right.at[i];
  if (left.is_constant() && right.is_constant()) return fixed(made.at[0]);
  if (left.is_constant() && left.at[0] == 1) return right;
  if (right.is_constant() && right.at[0] == 1) return left;
  made.text = bracketed(left.text) + " * " + bracketed(right.text);
  return made;
}

Dim over(const Dim& dim, std::int64_t divisor) {
  if (divisor == 1) return dim;
  Dim made = dim;
  for (std::int64_t& value : made.at) value /= divisor;
  if (dim.is_constant()) return fixed(made.at[0]);
  made.text = bracketed(dim.text) + " / " + std::to_string(divisor);
  return made;
}

std::int64_t Value::elements(std::size_t size) const {
  std::int64_t made = 1;
  for (const Dim& each : dims) made *= each.at[size];
  return made;
}

Draft::Draft(Random& drawn) : random(drawn) {
  const double share = random.uniform();
  dtype = share < 0.6 ? Dtype::float32 : share < 0.8 ? Dtype::float16 : Dtype::bfloat16;
}

std::string Draft::constant(double low, double high) {
  const auto hundredths =
      between(static_cast<std::int64_t>(std::lround(low * 100)), static_cast<std::int64_t>(std::lround(high * 100)));
  return fmt::format("{:.2f}", static_cast<double>(hundredths == 0 ? 1 : hundredths) / 100);
}

std::string Draft::axis_text(const Value& x, int axis) { return std::to_string(chance(0.5) ? axis - x.rank() : axis); }

std::string Draft::free_name(std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    if (std::find(taken_.begin(), taken_.end(), name) == taken_.end()) return taken_.emplace_back(name);
  }
  const std::string first(*names.begin());
  for (int i = 2;; ++i) {
    std::string name = first + std::to_string(i);
    if (std::find(taken_.begin(), taken_.end(), name) == taken_.end()) return taken_.emplace_back(std::move(name));
  }
}

Dim Draft::size(std::initializer_list<std::string_view> names, std::int64_t small_low, std::int64_t small_high,
                std::int64_t train_low, std::int64_t train_high, std::int64_t multiple) {
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    std::int64_t value = 0;
    do value = std::max<std::int64_t>(between(low, high) / multiple, 1) * multiple;
    while (value % held_out_factor == 0);
    return value;
  };
  Dim made;
  made.text = free_name(names);
  made.at = {draw(small_low, small_high), draw(small_low, small_high), draw(train_low, train_high)};
  // An extent that never varies would be a constant to whoever reads the task.
  if (made.at[0] == made.at[1]) made.at[1] += (made.at[1] + multiple) % held_out_factor == 0 ? 2 * multiple : multiple;
  sizes_.emplace_back(made.text, made.at);
  return made;
}

Dims Draft::plain_dims(int rank) {
  switch (rank) {
    case 1:
      return {size({"n", "length"}, 40, 2000, 30'000, 200'000)};
    case 2: {
      const bool rows = chance(0.5);
      return {rows ? size({"rows", "m"}, 3, 40, 130, 700) : size({"batch", "samples"}, 3, 40, 130, 700),
              rows ? size({"cols", "n"}, 5, 70, 130, 700) : size({"features", "dim"}, 5, 70, 130, 700)};
    }
    case 3: {
      const bool seq = chance(0.5);
      return {size({"batch", "groups"}, 2, 5, 6, 24),
              seq ? size({"seq", "steps"}, 3, 20, 50, 120) : size({"rows", "m"}, 3, 20, 50, 120),
              seq ? size({"dim", "features"}, 4, 30, 50, 140) : size({"cols", "n"}, 4, 30, 50, 140)};
    }
    case 4:
      return {size({"batch", "samples"}, 2, 3, 3, 9), size({"channels", "heads"}, 2, 6, 8, 20),
              size({"height", "rows"}, 3, 11, 16, 40), size({"width", "cols"}, 3, 12, 16, 40)};
    default:
      return {size({"batch", "samples"}, 1, 3, 2, 5), size({"channels", "heads"}, 2, 4, 4, 10),
              size({"depth", "frames"}, 2, 5, 6, 12), size({"height", "rows"}, 2, 6, 8, 16),
              size({"width", "cols"}, 3, 6, 8, 16)};
  }
}

Dims Draft::image_dims(int axes, std::int64_t channels) {
  Dims made{size({"batch", "samples"}, 1, 3, 2, 6), fixed(channels)};
  if (axes == 1) {
    made.push_back(size({"length", "steps"}, 17, 60, 200, 700));
  } else if (axes == 2) {
    made.push_back(size({"height", "rows"}, 11, 18, 20, 50));
    made.push_back(size({"width", "cols"}, 11, 18, 20, 50));
  } else {
    made.push_back(size({"depth", "frames"}, 8, 10, 10, 15));
    made.push_back(size({"height", "rows"}, 8, 10, 10, 18));
    made.push_back(size({"width", "cols"}, 8, 11, 10, 18));
  }
  return made;
}

Value Draft::input(std::initializer_list<std::string_view> names, const Dims& dims, Dtype type, Values values) {
  TensorSpec spec;
  spec.name = free_name(names);
  spec.dtype = type;
  for (const Dim& each : dims) spec.shape.push_back(expression_of(each));
  spec.values = values;
  Value made{spec.name, dims, type, true, -unbounded, unbounded};
  if (const auto* range = std::get_if<UniformValues>(&values)) made.low = range->low, made.high = range->high;
  // Normal values beyond six deviations do not occur in tensors of these sizes.
  if (std::holds_alternative<NormalValues>(values)) made.low = -6, made.high = 6;
  task_.inputs.push_back(std::move(spec));
  return made;
}

Value Draft::normal(std::initializer_list<std::string_view> names, const Dims& dims) {
  return input(names, dims, dtype, NormalValues{});
}

Value Draft::uniform(std::initializer_list<std::string_view> names, const Dims& dims, double low, double high) {
  return input(names, dims, dtype, UniformValues{low, high});
}

Value Draft::indices(std::initializer_list<std::string_view> names, const Dims& dims, const Dim& below) {
  return input(names, dims, Dtype::int64, IntegerValues{Expression(0), expression_of(plus(below, -1))});
}

Value Draft::say(const std::string& text, const Dims& dims, Dtype type) {
  static constexpr std::array<std::string_view, 6> names{"y", "h", "z", "u", "v", "s"};
  const auto place = static_cast<std::size_t>(values_++);
  std::string name = place < names.size() ? free_name({names[place]}) : free_name({"t"});
  lines_ += fmt::format("    {} = {}\n", name, text);
  return {std::move(name), dims, type, false, -unbounded, unbounded};
}

std::string Draft::size_text(const Dim& dim) {
  if (dim.is_constant()) return dim.text;
  for (const auto& [name, at] : sizes_) {
    const bool used = dim.text == name;
    if (used && std::find(size_parameters_.begin(), size_parameters_.end(), name) == size_parameters_.end())
      size_parameters_.push_back(name);
    if (used) return name;
  }
  return "";
}

Task Draft::finish(const Value& result) {
  std::vector<const Value*> results{&result};
  for (const Value& extra : extra_results)
    if (extra.name != result.name) results.push_back(&extra);
  std::string returned;
  for (const Value* each : results) {
    TensorSpec spec;
    spec.name = free_name(results.size() == 1 ? std::initializer_list<std::string_view>{"out"}
                                              : std::initializer_list<std::string_view>{"first", "second", "third"});
    spec.dtype = each->dtype;
    const bool is_number = each->dims.empty();
    if (is_number) spec.shape.emplace_back(1);
    for (const Dim& dim : each->dims) spec.shape.push_back(expression_of(dim));
    task_.outputs.push_back(std::move(spec));
    returned += (returned.empty() ? "" : ", ") + each->name + (is_number ? ".reshape(1)" : "");
  }
  // In the order of the shapes, as the launcher has them.
  for (const auto* specs : {&task_.inputs, &task_.outputs})
    for (const TensorSpec& spec : *specs)
      for (const Expression& entry : spec.shape)
        for (const std::string& name : entry.names())
          if (std::find(task_.size_names.begin(), task_.size_names.end(), name) == task_.size_names.end())
            task_.size_names.push_back(name);
  std::array<Sizes, size_count> all;
  for (const auto& [name, at] : sizes_)
    for (std::size_t i = 0; i < size_count; ++i) all[i][name] = at[i];
  task_.sizes_small = {all[0], all[1]};
  task_.sizes_train = {all[2]};
  std::string parameters;
  for (const TensorSpec& spec : task_.inputs) parameters += (parameters.empty() ? "" : ", ") + spec.name;
  for (const std::string& name : size_parameters_) parameters += ", " + name + ": int";
  task_.pytorch = fmt::format("def reference({}):\n{}    return {}\n", parameters, lines_, returned);
  return std::move(task_);
}

}  // namespace kw::programs
