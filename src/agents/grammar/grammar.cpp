#include "agents/grammar/grammar.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"

namespace kw {

GrammarParts::GrammarParts(Random& drawn, Family family) : random(drawn) { problem.family = family; }

int GrammarParts::pick(std::initializer_list<int> values) {
  return values.begin()[random.integer(0, static_cast<std::int64_t>(values.size()) - 1)];
}

std::string GrammarParts::name(RoleNames candidates) {
  const auto start = static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(candidates.size()) - 1));
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    std::string each(candidates.begin()[(start + i) % candidates.size()]);
    if (std::find(taken.begin(), taken.end(), each) != taken.end()) continue;
    taken.push_back(each);
    return each;
  }
  for (int number = 2;; ++number) {
    std::string each = fmt::format("{}{}", *candidates.begin(), number);
    if (std::find(taken.begin(), taken.end(), each) != taken.end()) continue;
    taken.push_back(each);
    return each;
  }
}

Dtype GrammarParts::draw_dtype(double half_share, double integer_share) {
  const double kind = random.uniform();
  Dtype dtype = Dtype::float32;
  if (kind < half_share) {
    dtype = random.uniform() < 0.6 ? Dtype::float16 : Dtype::bfloat16;
  } else if (kind < half_share + integer_share) {
    dtype = Dtype::int32;
  }
  problem.dtype = problem.output_dtype = dtype;
  return dtype;
}

int GrammarParts::add(std::string own, std::string label, std::vector<std::string> shape, std::string text) {
  Operand operand;
  operand.name = std::move(own);
  operand.label = std::move(label);
  operand.torch = text.empty() ? operand.name : std::move(text);
  operand.dtype = problem.dtype;
  operand.shape = std::move(shape);
  if (problem.integer()) operand.values = IntegerValues{Expression(-20), Expression(20)};
  problem.operands.push_back(std::move(operand));
  return static_cast<int>(problem.operands.size()) - 1;
}

int GrammarParts::add_scalar() {
  const int index = add(name(names::scalar), "scalar", {});
  Operand& operand = problem.operands.back();
  if (problem.integer()) {
    operand.values = IntegerValues{Expression(-9), Expression(9)};
  } else {
    operand.dtype = Dtype::float32;
    operand.values = UniformValues{0.5, 2.0};
  }
  return index;
}

void GrammarParts::dim(std::string own, int small_low, int small_high, std::initializer_list<int> train) {
  problem.dims.push_back(std::move(own));
  problem.ranges.push_back({small_low, small_high, train});
}

ScalarExpression GrammarParts::expression(const std::vector<int>& operands, int operators) {
  std::vector<OperandUse> uses;
  for (int index : operands) {
    OperandUse use{index, false, false, index == problem.result_index()};
    if (index < problem.result_index()) {
      const Operand& operand = problem.operands[static_cast<std::size_t>(index)];
      use.scalar = operand.is_scalar();
      const auto* range = std::get_if<UniformValues>(&operand.values);
      use.positive = range != nullptr && range->low > 0;
    }
    uses.push_back(use);
  }
  DrawLimits limits;
  limits.operators = operators;
  limits.integers = problem.integer();
  limits.products = problem.dtype == Dtype::float16 ? 1 : 2;
  return draw_expression(random, uses, limits);
}

std::string GrammarParts::torch(const ScalarExpression& what, const std::string& result) {
  std::vector<std::string> names;
  for (const Operand& operand : problem.operands) names.push_back(operand.torch);
  names.push_back(result);
  return torch_text(what, names);
}

void GrammarParts::finish_torch(const std::string& core, const std::string& before) {
  problem.torch_body = before;
  if (problem.post.trivial()) {
    problem.torch_body += "return " + core;
    return;
  }
  const std::string result = name(names::result_local);
  problem.torch_body += result + " = " + core + "\nreturn " + torch(problem.post, result);
}

void GrammarParts::draw_post(const std::vector<int>& extra, double share, int operators) {
  if (extra.empty() && !chance(share)) return no_post();
  std::vector<int> operands{problem.result_index()};
  operands.insert(operands.end(), extra.begin(), extra.end());
  problem.post = expression(operands, operators);
}

void draw_elementwise(GrammarParts& parts) {
  Problem& p = parts.problem;
  parts.draw_dtype(0.2, 0.12);
  std::vector<std::string> shape;
  if (parts.chance(0.75)) {
    shape = {parts.name(names::vector_length)};
    parts.dim(shape[0], 1, 4000, {4194304, 8388608, 16777216, 12582912, 20000000, 33554432});
  } else {
    shape = {parts.name(names::plane_rows), parts.name(names::plane_cols)};
    parts.dim(shape[0], 1, 40, {1024, 2048, 4096, 8192});
    parts.dim(shape[1], 1, 100, {512, 1000, 1024, 2048, 3000, 4096});
  }
  const int tensors = parts.pick({1, 1, 1, 2, 2, 2, 3, 3, 4});
  std::vector<int> used;
  for (int i = 0; i < tensors; ++i) {
    used.push_back(parts.add(parts.name(names::element_full), "full", shape));
    if (i > 0 && !p.integer() && parts.chance(0.12)) p.operands.back().values = UniformValues{0.1, 2.0};
  }
  if (tensors < 4 && parts.chance(0.25)) used.push_back(parts.add_scalar());
  p.output = parts.name(names::element_output);
  p.output_shape = shape;
  p.pre = parts.expression(used, parts.pick({1, 2, 2, 3, 3, 4, 5}) + static_cast<int>(used.size()) - 1);
  parts.no_post();
  p.torch_body = "return " + parts.torch(p.pre);
  p.summary = "Element by element: " + parts.torch(p.pre) + ".";
}

void draw_broadcast(GrammarParts& parts) {
  Problem& p = parts.problem;
  parts.draw_dtype(0.2, 0.08);
  p.tier = 1;
  struct Kind {
    std::string label;
    std::vector<std::string> shape;
    std::string torch;  // behind the name
  };
  std::vector<Kind> kinds;
  std::vector<std::string> full;
  if (parts.chance(0.6)) {
    full = {parts.name(names::broadcast_rows), parts.name(names::broadcast_cols)};
    parts.dim(full[0], 1, 40, {1024, 2048, 4096, 8192, 5000});
    parts.dim(full[1], 1, 150, {256, 512, 1000, 1024, 2048, 4096});
    kinds = {{"row", {full[1]}, ""}, {"column", {full[0]}, ".unsqueeze(1)"}};
  } else {
    full = {parts.name(names::image_batch), parts.name(names::image_channels), parts.name(names::broadcast_last)};
    parts.dim(full[0], 1, 5, {4, 8, 16, 32});
    parts.dim(full[1], 1, 12, {32, 64, 128, 100});
    parts.dim(full[2], 1, 90, {1024, 4096, 3136, 1000});
    kinds = {{"channel", {full[1]}, ".unsqueeze(1)"}, {"channel", {full[1]}, ".unsqueeze(1)"}, {"last", {full[2]}, ""}};
  }
  std::vector<int> used{parts.add(parts.name(names::broadcast_full), "full", full)};
  if (parts.chance(0.25)) used.push_back(parts.add(parts.name(names::broadcast_second), "full", full));
  const int narrow = parts.pick({1, 1, 2});
  for (int i = 0; i < narrow; ++i) {
    const Kind& kind =
        kinds[static_cast<std::size_t>(parts.random.integer(0, static_cast<std::int64_t>(kinds.size()) - 1))];
    const std::string own = parts.name(names::broadcast_narrow);
    used.push_back(parts.add(own, kind.label, kind.shape, own + kind.torch));
    if (!p.integer() && parts.chance(0.15)) p.operands.back().values = UniformValues{0.1, 2.0};
  }
  p.output = parts.name(names::output);
  p.output_shape = full;
  p.pre = parts.expression(used, parts.pick({1, 1, 2, 3}) + static_cast<int>(used.size()) - 1);
  parts.no_post();
  p.torch_body = "return " + parts.torch(p.pre);
  p.summary = "With broadcasting: " + parts.torch(p.pre) + ".";
}

Problem draw_problem(Random& random, Family family) {
  GrammarParts parts(random, family);
  switch (kind_of(family)) {
    case FamilyKind::elementwise:
      draw_elementwise(parts);
      break;
    case FamilyKind::broadcast:
      draw_broadcast(parts);
      break;
    case FamilyKind::reduction:
      draw_reduction(parts);
      break;
    case FamilyKind::row_norm:
      draw_row_norm(parts);
      break;
    case FamilyKind::movement:
      draw_movement(parts);
      break;
    case FamilyKind::scan:
      draw_scan(parts);
      break;
    case FamilyKind::window:
      draw_window(parts);
      break;
    case FamilyKind::product:
      draw_product(parts);
      break;
  }
  KW_CHECK(!parts.problem.torch_body.empty());
  return std::move(parts.problem);
}

}  // namespace kw
