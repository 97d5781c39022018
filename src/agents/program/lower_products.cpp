// Contractions: products of tensors summed over some indices.

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "agents/program/lowering.h"

namespace kw::program {

NodeId Lowering::product(NodeId left, NodeId right) {
  if (failed()) return 0;
  if (rank(left) == 0 || rank(right) == 0) {
    fail("`matmul` of a number");
    return 0;
  }
  const bool row = rank(left) == 1, column = rank(right) == 1;
  if (row) left = unsqueeze(left, 0);
  if (column) right = unsqueeze(right, 1);
  const Extents a = shape(left), b = shape(right);
  const Extent inner = a.back();
  if (!same(inner, b[b.size() - 2]))
    fail(fmt::format("`{}` over the extents {} and {}", operation, inner.text(), b[b.size() - 2].text()));
  Extents made = broadcast(Extents(a.begin(), a.end() - 2), Extents(b.begin(), b.end() - 2));
  made.push_back(a[a.size() - 2]);
  made.push_back(b.back());
  if (failed()) return 0;
  const Dtype type = promoted({Value::of(left), Value::of(right)});
  NodeId result = reduce(Combine::sum, type, made, {inner}, [&](Axes at, const Axes& over) {
    const TermId i = at[at.size() - 2], j = at.back();
    at[at.size() - 2] = i;
    at.back() = over[0];
    const TermId one = graph.cast(read(left, at), type);
    at[at.size() - 2] = over[0];
    at.back() = j;
    return multiply(one, graph.cast(read(right, at), type));
  });
  if (column) result = squeeze(result, rank(result) - 1);
  if (row) result = squeeze(result, rank(result) - (column ? 1 : 2));
  return result;
}

namespace {

using Terms = std::vector<TermId>;

Value lower_matmul(Lowering& to, const Arguments& a) {
  const NodeId left = to.tensor(a["input"]), right = to.tensor(a["other"], "other");
  return Value::of(to.product(left, right));
}

Value lower_linear(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]), weight = to.tensor(a["weight"], "weight");
  if (to.failed()) return {};
  const NodeId turned = to.rank(weight) == 2 ? to.transpose(weight, 0, 1) : weight;
  const NodeId made = to.product(x, turned);
  const NodeId bias = to.optional_tensor(a["bias"]);
  return Value::of(bias < 0 ? made : to.binary(ScalarOp::add, made, bias));
}

// beta * input + alpha * (first @ second)
Value lower_addmm(Lowering& to, const Arguments& a) {
  const NodeId first = to.tensor(a["first"], "first"), second = to.tensor(a["second"], "second");
  if (to.failed()) return {};
  const bool outer = a.function == "addr";
  NodeId made = outer ? to.binary(ScalarOp::multiply, to.unsqueeze(first, 1), second) : to.product(first, second);
  if (a.function == "addbmm") made = to.reduce_axes(Combine::sum, made, {0}, false);
  made = to.binary(ScalarOp::multiply, Value::of(made), a["alpha"]);
  const NodeId input = to.binary(ScalarOp::multiply, a["input"], a["beta"]);
  return Value::of(to.binary(ScalarOp::add, input, made));
}

Value lower_dot(Lowering& to, const Arguments& a) {
  const NodeId left = to.tensor(a["input"]), right = to.tensor(a["other"], "other");
  if (to.failed()) return {};
  if (a.function == "outer" || a.function == "ger")
    return Value::of(to.binary(ScalarOp::multiply, to.unsqueeze(left, to.rank(left)), right));
  if (a.function == "vecdot" || a.function == "inner") {
    if (a.function == "inner")
      return Value::of(to.product(left, to.rank(right) > 1 ? to.transpose(right, 0, 1) : right));
    const NodeId both = to.binary(ScalarOp::multiply, left, right);
    return Value::of(to.failed() ? 0 : to.reduce_axes(Combine::sum, both, {to.rank(both) - 1}, false));
  }
  return Value::of(to.product(left, right));
}

// `bij,bjk->bik`; an ellipsis stands for the dimensions that are left, in capital letters that no text can have.
struct Equation {
  std::vector<std::string> operands;
  std::string result;
};

std::optional<Equation> read_equation(Lowering& to, std::string text, const std::vector<NodeId>& tensors) {
  std::erase(text, ' ');
  const std::size_t arrow = text.find("->");
  Equation made;
  made.operands.emplace_back();
  for (const char c : text.substr(0, arrow)) {
    if (c == ',')
      made.operands.emplace_back();
    else
      made.operands.back() += c;
  }
  if (made.operands.size() != tensors.size()) return std::nullopt;
  std::size_t widest = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    std::string& own = made.operands[i];
    const std::size_t dots = own.find("...");
    if (dots == std::string::npos) continue;
    const auto rank = static_cast<std::size_t>(to.rank(tensors[i]));
    if (rank + 3 < own.size()) return std::nullopt;
    const std::size_t left = rank - (own.size() - 3);
    widest = std::max(widest, left);
    if (left > 9) return std::nullopt;
    std::string stand;  // "0" is the last of those dimensions
    for (std::size_t k = left; k-- > 0;) stand += static_cast<char>('0' + k);
    own.replace(dots, 3, stand);
  }
  std::string all_left;
  for (std::size_t k = widest; k-- > 0;) all_left += static_cast<char>('0' + k);
  std::map<char, int> seen;
  for (const std::string& own : made.operands)
    for (const char c : own) ++seen[c];
  if (arrow == std::string::npos) {
    made.result = all_left;
    for (const auto& [letter, count] : seen)
      if (count == 1 && (letter < '0' || letter > '9')) made.result += letter;
  } else {
    made.result = text.substr(arrow + 2);
    const std::size_t dots = made.result.find("...");
    if (dots != std::string::npos) made.result.replace(dots, 3, all_left);
  }
  for (const char c : made.result)
    if (!seen.contains(c)) return std::nullopt;
  return made;
}

Value lower_einsum(Lowering& to, const Arguments& a) {
  const std::string text = to.text(a["equation"], "equation");
  std::vector<NodeId> tensors;
  std::vector<Value> values = a["operands"].items;
  if (values.size() == 1 && values[0].is(Value::Kind::list)) values = std::vector<Value>(values[0].items);
  for (const Value& each : values) tensors.push_back(to.tensor(each, "operands"));
  if (to.failed()) return {};
  const auto equation = read_equation(to, text, tensors);
  if (!equation) {
    to.fail(fmt::format("`einsum` with the equation {}", text));
    return {};
  }
  std::map<char, Extent> extents;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Extents& own = to.shape(tensors[i]);
    if (own.size() != equation->operands[i].size()) {
      to.fail(fmt::format("`einsum` with the equation {}", text));
      return {};
    }
    for (std::size_t k = 0; k < own.size(); ++k) {
      const auto [found, is_new] = extents.try_emplace(equation->operands[i][k], own[k]);
      if (!is_new && to.is_one(found->second)) found->second = own[k];
    }
  }
  Extents made, over;
  std::map<char, std::size_t> place, inner;
  for (const char c : equation->result) {
    place[c] = made.size();
    made.push_back(extents[c]);
  }
  for (const auto& [c, extent] : extents)
    if (!place.contains(c)) {
      inner[c] = over.size();
      over.push_back(extent);
    }
  const Dtype type = to.promoted(values);
  const auto term = [&](const Axes& at, const Axes& in) {
    TermId together = -1;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      Axes indices;
      for (const char c : equation->operands[i]) indices.push_back(place.contains(c) ? at[place[c]] : in[inner[c]]);
      const TermId one = to.graph.cast(to.read(tensors[i], indices), type);
      together = together < 0 ? one : to.multiply(together, one);
    }
    return together;
  };
  if (over.empty()) return Value::of(to.map(type, made, [&](const Axes& at) { return term(at, {}); }));
  return Value::of(to.reduce(Combine::sum, type, made, over, term));
}

Value lower_bilinear(Lowering& to, const Arguments& a) {
  const NodeId left = to.tensor(a["input1"]), right = to.tensor(a["input2"]), weight = to.tensor(a["weight"]);
  if (to.failed() || to.rank(left) < 1 || to.rank(right) < 1 || to.rank(weight) != 3) return {};
  Extents made = to.shape(left);
  made.back() = to.shape(weight)[0];
  const Extents over{to.shape(left).back(), to.shape(right).back()};
  const NodeId sum = to.reduce(Combine::sum, to.dtype(left), made, over, [&](const Axes& at, const Axes& in) {
    Axes i = at, j = at;
    i.back() = in[0];
    j.back() = in[1];
    return to.multiply(to.multiply(to.read(left, i), to.read(weight, {at.back(), in[0], in[1]})), to.read(right, j));
  });
  const NodeId bias = to.optional_tensor(a["bias"]);
  return Value::of(bias < 0 ? sum : to.binary(ScalarOp::add, sum, bias));
}

}  // namespace

std::span<const Operation> product_operations() {
  static const std::vector<Operation> table{
      {"matmul mm bmm mv __matmul__", "input, other", lower_matmul},
      {"dot vdot outer ger inner", "input, other", lower_dot},
      {"vecdot", "input, other, dim=-1", lower_dot},
      {"linear", "input, weight, bias=None", lower_linear},
      {"addmm baddbmm addmv addbmm addr", "input, first, second, beta=1, alpha=1", lower_addmm},
      {"einsum", "equation, *operands", lower_einsum},
      {"bilinear", "input1, input2, weight, bias=None", lower_bilinear},
  };
  return table;
}

}  // namespace kw::program
