// Arguments of calls, as the kinds of things that operations ask for.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "agents/program/lowering.h"

namespace kw::program {

NodeId Lowering::tensor(const Value& value, std::string_view what) {
  if (failed()) return 0;
  if (value.is(Value::Kind::tensor)) return value.node;
  if (value.is_number()) {
    const Dtype own = promoted({value});
    return map(own, {}, [&](const Axes&) { return number_term(value, own); });
  }
  fail(fmt::format("`{}` whose `{}` is no tensor", operation, what));
  return 0;
}

NodeId Lowering::optional_tensor(const Value& value) { return value.is(Value::Kind::none) ? -1 : tensor(value); }

Extent Lowering::whole(const Value& value, std::string_view what) {
  if (value.is(Value::Kind::whole)) return value.whole;
  if (value.is(Value::Kind::boolean)) return Extent(value.boolean ? 1 : 0);
  fail(fmt::format("`{}` whose `{}` is no whole number", operation, what));
  return Extent(1);
}

std::int64_t Lowering::constant_whole(const Value& value, std::string_view what) {
  const auto constant = known(whole(value, what));
  if (!constant) fail(fmt::format("`{}` whose `{}` is no constant", operation, what));
  return constant.value_or(1);
}

double Lowering::constant_real(const Value& value, std::string_view what) {
  if (value.is(Value::Kind::real) && graph.term(value.real).kind == TermKind::real) return graph.term(value.real).real;
  if (value.is(Value::Kind::real)) {
    fail(fmt::format("`{}` whose `{}` is no constant", operation, what));
    return 0;
  }
  return static_cast<double>(constant_whole(value, what));
}

bool Lowering::flag(const Value& value, std::string_view what) {
  if (value.is(Value::Kind::boolean)) return value.boolean;
  if (value.is(Value::Kind::none)) return false;
  if (value.is(Value::Kind::whole) && value.whole.constant()) return !value.whole.is(0);
  fail(fmt::format("`{}` whose `{}` is neither True nor False", operation, what));
  return false;
}

std::string Lowering::text(const Value& value, std::string_view what) {
  if (value.is(Value::Kind::text)) return value.text;
  fail(fmt::format("`{}` whose `{}` is no text", operation, what));
  return "";
}

int Lowering::axis(const Value& value, int rank, std::string_view what) {
  const std::int64_t given = constant_whole(value, what);
  const int most = std::max(rank, 1);  // a tensor without dimensions has an axis 0 for PyTorch
  if (given < -most || given >= most) {
    fail(fmt::format("`{}` whose `{}` is {} for {} dimensions", operation, what, given, rank));
    return 0;
  }
  return static_cast<int>(given < 0 ? given + most : given);
}

std::vector<int> Lowering::axes(const Value& value, int rank, std::string_view what) {
  std::vector<int> made;
  if (value.is(Value::Kind::none) || (value.is(Value::Kind::list) && value.items.empty())) {
    for (int i = 0; i < rank; ++i) made.push_back(i);
    return made;
  }
  if (!value.is(Value::Kind::list)) {
    const int one = axis(value, rank, what);
    return rank == 0 ? std::vector<int>{} : std::vector<int>{one};
  }
  for (const Value& each : value.items) made.push_back(axis(each, rank, what));
  std::sort(made.begin(), made.end());
  if (std::adjacent_find(made.begin(), made.end()) != made.end())
    fail(fmt::format("`{}` that names an axis twice", operation));
  if (rank == 0) made.clear();
  return made;
}

std::vector<Extent> Lowering::wholes(const Value& value, std::string_view what) {
  if (!value.is(Value::Kind::list)) return {whole(value, what)};
  // Both view(2, 3) and view([2, 3]).
  if (value.items.size() == 1 && value.items[0].is(Value::Kind::list)) return wholes(value.items[0], what);
  std::vector<Extent> made;
  for (const Value& each : value.items) made.push_back(whole(each, what));
  return made;
}

std::vector<std::int64_t> Lowering::constants(const Value& value, std::size_t count, std::string_view what) {
  std::vector<std::int64_t> made;
  if (value.is(Value::Kind::list)) {
    for (const Value& each : value.items) made.push_back(constant_whole(each, what));
  } else {
    made.push_back(constant_whole(value, what));
  }
  if (made.size() == 1) made.resize(count, made[0]);
  if (made.size() != count) {
    fail(fmt::format("`{}` with {} numbers for its `{}`", operation, made.size(), what));
    made.resize(count, 1);
  }
  return made;
}

}  // namespace kw::program
