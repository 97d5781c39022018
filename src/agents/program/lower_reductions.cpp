// Reductions and scans over any axes, softmax and its family.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "agents/program/lowering.h"

namespace kw::program {
namespace {

using Terms = std::vector<TermId>;

// Sums and products of whole numbers and bool are int64.
Dtype summed(Dtype dtype) { return is_floating_point(dtype) ? dtype : Dtype::int64; }

std::optional<Dtype> given_dtype(const Arguments& a) {
  return a["dtype"].is(Value::Kind::dtype) ? std::optional(a["dtype"].dtype) : std::nullopt;
}

Value lower_sum(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]);
  if (to.failed()) return {};
  const std::vector<int> axes = to.axes(a["dim"], to.rank(x));
  const bool keep = to.flag(a["keepdim"], "keepdim");
  const Combine combine = a.function == "prod" ? Combine::product : Combine::sum;
  if (a.function == "mean")
    return Value::of(to.mean_axes(given_dtype(a) ? to.cast(x, *given_dtype(a)) : x, axes, keep));
  return Value::of(to.reduce_axes(combine, x, axes, keep, given_dtype(a).value_or(summed(to.dtype(x)))));
}

Value lower_extreme(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]);
  if (to.failed()) return {};
  const bool greatest = a.function.ends_with("max");
  const bool keep = to.flag(a["keepdim"], "keepdim");
  return Value::of(
      to.reduce_axes(greatest ? Combine::maximum : Combine::minimum, x, to.axes(a["dim"], to.rank(x)), keep));
}

NodeId place_of_extreme(Lowering& to, NodeId x, bool greatest, const std::vector<int>& axes, bool keep) {
  return to.reduce_axes(greatest ? Combine::argmax : Combine::argmin, x, axes, keep, Dtype::int64);
}

// torch.max(x), torch.max(x, dim) and torch.max(x, other).
Value lower_max(Lowering& to, const Arguments& a) {
  const bool greatest = a.function == "max";
  const Value& second = a["dim"].is(Value::Kind::none) ? a["other"] : a["dim"];
  if (second.is(Value::Kind::tensor))
    return Value::of(to.binary(greatest ? ScalarOp::maximum : ScalarOp::minimum, a["input"], second));
  const NodeId x = to.tensor(a["input"]);
  if (to.failed()) return {};
  const std::vector<int> axes = to.axes(second, to.rank(x));
  const bool keep = to.flag(a["keepdim"], "keepdim");
  const NodeId value = to.reduce_axes(greatest ? Combine::maximum : Combine::minimum, x, axes, keep);
  if (second.is(Value::Kind::none)) return Value::of(value);
  return Value::of_list({Value::of(value), Value::of(place_of_extreme(to, x, greatest, axes, keep))});
}

Value lower_place(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]);
  if (to.failed()) return {};
  const std::vector<int> axes = to.axes(a["dim"], to.rank(x));
  return Value::of(place_of_extreme(to, x, a.function == "argmax", axes, to.flag(a["keepdim"], "keepdim")));
}

Value lower_any(Lowering& to, const Arguments& a) {
  const NodeId x = to.cast(to.tensor(a["input"]), Dtype::boolean);
  if (to.failed()) return {};
  const bool keep = to.flag(a["keepdim"], "keepdim");
  return Value::of(
      to.reduce_axes(a.function == "any" ? Combine::any : Combine::all, x, to.axes(a["dim"], to.rank(x)), keep));
}

Value lower_count_nonzero(Lowering& to, const Arguments& a) {
  const NodeId x = to.cast(to.cast(to.tensor(a["input"]), Dtype::boolean), Dtype::int64);
  if (to.failed()) return {};
  return Value::of(to.reduce_axes(Combine::sum, x, to.axes(a["dim"], to.rank(x)), false));
}

// In two passes: a difference of two large sums would lose its digits.
NodeId variance(Lowering& to, NodeId x, const std::vector<int>& axes, double correction, bool keep) {
  const NodeId off = to.binary(ScalarOp::subtract, x, to.mean_axes(x, axes, true));
  const NodeId total = to.reduce_axes(Combine::sum, to.binary(ScalarOp::multiply, off, off), axes, keep);
  if (to.failed()) return 0;
  const Extent count = to.elements_along(x, axes) - Extent(static_cast<std::int64_t>(correction));
  return to.elements(std::vector<NodeId>{total}, [&](const Terms& t) {
    return to.divide(t[0], to.number_term(Value::of_whole(count), to.graph.term(t[0]).dtype));
  });
}

Value lower_variance(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]);
  if (to.failed()) return {};
  // torch.var(x, unbiased) and torch.var(x, dim, unbiased).
  Value dim = a["dim"], unbiased = a["unbiased"];
  if (dim.is(Value::Kind::boolean)) std::swap(dim, unbiased);
  double correction = a.has("correction") ? to.constant_real(a["correction"], "correction") : 1;
  if (!unbiased.is(Value::Kind::none)) correction = to.flag(unbiased, "unbiased") ? 1 : 0;
  const std::vector<int> axes = to.axes(dim, to.rank(x));
  const bool keep = to.flag(a["keepdim"], "keepdim");
  const bool root = a.function.starts_with("std");
  const NodeId made = variance(to, x, axes, correction, keep);
  const Value first = Value::of(root ? to.unary(ScalarOp::square_root, made) : made);
  if (!a.function.ends_with("_mean")) return first;
  return Value::of_list({first, Value::of(to.mean_axes(x, axes, keep))});
}

NodeId power_norm(Lowering& to, NodeId x, double p, const std::vector<int>& axes, bool keep) {
  const NodeId size = to.unary(ScalarOp::absolute, x);
  if (std::isinf(p)) return to.reduce_axes(p > 0 ? Combine::maximum : Combine::minimum, size, axes, keep);
  if (p == 0) return to.reduce_axes(Combine::sum, to.cast(to.cast(size, Dtype::boolean), to.dtype(x)), axes, keep);
  if (p == 1) return to.reduce_axes(Combine::sum, size, axes, keep);
  if (p == 2)
    return to.unary(ScalarOp::square_root,
                    to.reduce_axes(Combine::sum, to.binary(ScalarOp::multiply, x, x), axes, keep));
  return to.with(ScalarOp::power, to.reduce_axes(Combine::sum, to.with(ScalarOp::power, size, p), axes, keep), 1 / p);
}

Value lower_norm(Lowering& to, const Arguments& a) {
  const NodeId x = to.floating(to.tensor(a["input"]));
  if (to.failed()) return {};
  double p = 2;
  if (a["p"].is(Value::Kind::text)) {
    if (a["p"].text != "fro") to.fail(fmt::format("`{}` of the kind {}", to.operation, a["p"].text));
  } else if (a.has("p")) {
    p = to.constant_real(a["p"], "p");
  }
  return Value::of(power_norm(to, x, p, to.axes(a["dim"], to.rank(x)), to.flag(a["keepdim"], "keepdim")));
}

Value lower_normalize(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]);
  if (to.failed()) return {};
  const NodeId size = power_norm(to, x, to.constant_real(a["p"], "p"), to.axes(a["dim"], to.rank(x)), true);
  return Value::of(to.binary(ScalarOp::divide, x, to.with(ScalarOp::maximum, size, to.constant_real(a["eps"], "eps"))));
}

Value lower_logsumexp(Lowering& to, const Arguments& a) {
  const NodeId x = to.floating(to.tensor(a["input"]));
  if (to.failed()) return {};
  const std::vector<int> axes = to.axes(a["dim"], to.rank(x));
  const NodeId top = to.reduce_axes(Combine::maximum, x, axes, true);
  // A row of -inf alone would give -inf - -inf.
  const NodeId shift = to.elements(std::vector<NodeId>{top}, [&](const Terms& t) {
    return to.graph.select(to.graph.apply(ScalarOp::is_infinite, t[0]), to.number(0, to.graph.term(t[0]).dtype), t[0]);
  });
  const NodeId total =
      to.reduce_axes(Combine::sum, to.unary(ScalarOp::exp, to.binary(ScalarOp::subtract, x, shift)), axes, true);
  NodeId made = to.binary(ScalarOp::add, to.unary(ScalarOp::log, total), shift);
  if (!to.flag(a["keepdim"], "keepdim"))
    for (auto each = axes.rbegin(); each != axes.rend() && !to.failed(); ++each) made = to.squeeze(made, *each);
  return Value::of(made);
}

Value lower_softmax(Lowering& to, const Arguments& a) {
  NodeId x = to.tensor(a["input"]);
  if (a["dtype"].is(Value::Kind::dtype)) x = to.cast(x, a["dtype"].dtype);
  if (to.failed()) return {};
  if (!a.has("dim")) to.fail(fmt::format("`{}` without `dim`", to.operation));
  const int axis = to.axis(a["dim"], to.rank(x));
  if (to.failed()) return {};
  if (to.rank(x) == 0) return Value::of(to.constant(to.dtype(x), {}, a.function == "log_softmax" ? 0 : 1));
  if (a.function == "softmin") x = to.unary(ScalarOp::negate, x);
  return Value::of(a.function == "log_softmax" ? to.log_softmax(x, axis) : to.softmax(x, axis));
}

NodeId scan(Lowering& to, Combine combine, NodeId x, int axis, Dtype dtype) {
  if (to.failed()) return 0;
  if (to.rank(x) == 0) return to.cast(x, dtype);
  Node node;
  node.kind = NodeKind::scan;
  node.combine = combine;
  node.dtype = dtype;
  node.shape = to.shape(x);
  node.axis = axis;
  node.operation = to.operation;
  node.line = to.line;
  Axes at;
  for (int i = 0; i < to.rank(x); ++i) at.push_back(to.graph.axis(i));
  const TermId element = to.read(x, at);
  node.body = combine == Combine::argmax || combine == Combine::argmin ? element : to.graph.cast(element, dtype);
  return to.graph.add(std::move(node));
}

Value lower_scan(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]);
  if (to.failed()) return {};
  const int axis = to.axis(a["dim"], to.rank(x));
  if (a.function == "cummax" || a.function == "cummin") {
    const bool greatest = a.function == "cummax";
    const Value value = Value::of(scan(to, greatest ? Combine::maximum : Combine::minimum, x, axis, to.dtype(x)));
    const Value place = Value::of(scan(to, greatest ? Combine::argmax : Combine::argmin, x, axis, Dtype::int64));
    return Value::of_list({value, place});
  }
  const Dtype dtype = given_dtype(a).value_or(summed(to.dtype(x)));
  return Value::of(scan(to, a.function == "cumprod" ? Combine::product : Combine::sum, x, axis, dtype));
}

// log of a running sum of exponentials, shifted by the greatest value of the whole row.
// Of each sum the greatest value so far is taken out: the greatest of all would leave nothing of what lies before it.
Value lower_logcumsumexp(Lowering& to, const Arguments& a) {
  const NodeId x = to.floating(to.tensor(a["input"]));
  if (to.failed() || to.rank(x) == 0) return Value::of(x);
  const auto axis = static_cast<std::size_t>(to.axis(a["dim"], to.rank(x)));
  const NodeId top = scan(to, Combine::maximum, x, static_cast<int>(axis), to.dtype(x));
  if (to.failed()) return {};
  const Extents shape = to.shape(x);
  const NodeId sums =
      to.reduce(Combine::sum, to.dtype(x), shape, {shape[axis]}, [&](const Axes& at, const Axes& before) {
        Axes place = at;
        place[axis] = before[0];
        const TermId value = to.graph.apply(ScalarOp::exp, to.subtract(to.read(x, place), to.read(top, at)));
        const TermId counts = to.graph.apply(ScalarOp::less_equal, before[0], at[axis]);
        return to.graph.select(counts, value, to.number(0, to.graph.term(value).dtype));
      });
  return Value::of(to.binary(ScalarOp::add, to.unary(ScalarOp::log, sums), top));
}

}  // namespace

std::span<const Operation> reduction_operations() {
  static const std::vector<Operation> table{
      {"sum mean", "input, dim=None, keepdim=False, dtype=None", lower_sum},
      {"prod", "input, dim=None, keepdim=False, dtype=None", lower_sum},
      {"amax amin", "input, dim=None, keepdim=False", lower_extreme},
      {"max min", "input, dim=None, keepdim=False, other=None", lower_max},
      {"argmax argmin", "input, dim=None, keepdim=False", lower_place},
      {"any all", "input, dim=None, keepdim=False", lower_any},
      {"count_nonzero", "input, dim=None", lower_count_nonzero},
      {"var std var_mean std_mean", "input, dim=None, unbiased=None, keepdim=False, correction=None", lower_variance},
      {"norm", "input, p=None, dim=None, keepdim=False", lower_norm},
      {"vector_norm", "input, p=2, dim=None, keepdim=False", lower_norm},
      {"torch.linalg.norm", "input, p=None, dim=None, keepdim=False", lower_norm},
      {"normalize", "input, p=2.0, dim=1, eps=1e-12", lower_normalize},
      {"logsumexp", "input, dim, keepdim=False", lower_logsumexp},
      {"softmax log_softmax softmin", "input, dim=None, dtype=None, _stacklevel=3", lower_softmax},
      {"torch.softmax torch.log_softmax", "input, dim=None, dtype=None", lower_softmax},
      {"cumsum cumprod", "input, dim, dtype=None", lower_scan},
      {"cummax cummin", "input, dim", lower_scan},
      {"logcumsumexp", "input, dim", lower_logcumsumexp},
  };
  return table;
}

}  // namespace kw::program
