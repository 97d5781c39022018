// Types, and tensors that are made of nothing but a shape.

#include <cmath>

#include "agents/program/lowering.h"

namespace kw::program {
namespace {

Value lower_to(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]);
  if (to.failed()) return {};
  for (const Value& each : {a["dtype"], a["other"]}) {
    if (each.is(Value::Kind::dtype)) return Value::of(to.cast(x, each.dtype));
    if (each.is(Value::Kind::tensor)) return Value::of(to.cast(x, to.dtype(each.node)));
  }
  return Value::of(x);  // a device
}

constexpr std::pair<std::string_view, Dtype> cast_names[] = {
    {"float", Dtype::float32},     {"double", Dtype::float64}, {"half", Dtype::float16},
    {"bfloat16", Dtype::bfloat16}, {"int", Dtype::int32},      {"long", Dtype::int64},
    {"bool", Dtype::boolean},      {"char", Dtype::int8},      {"byte", Dtype::uint8},
};

Value lower_cast(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["input"]);
  for (const auto& [name, dtype] : cast_names)
    if (name == a.function) return Value::of(to.cast(x, dtype));
  return {};
}

Value lower_filled(Lowering& to, const Arguments& a) {
  const std::string& name = a.function;
  const bool like = name.ends_with("_like") || name.starts_with("new_") || name == "fill" || name == "zero";
  Extents shape;
  Value fill = Value::of_whole(name.find("one") != std::string::npos ? 1 : 0);
  Dtype dtype = Dtype::float32;
  if (like) {
    const NodeId x = to.tensor(a["input"]);
    if (to.failed()) return {};
    dtype = to.dtype(x);
    shape = name.starts_with("new_") ? to.wholes(a["size"], "size") : to.shape(x);
  } else {
    shape = to.wholes(a["size"], "size");
  }
  if (name.find("full") != std::string::npos || name == "fill") {
    fill = a["fill_value"];
    if (!like) dtype = to.promoted({fill});
  }
  if (a["dtype"].is(Value::Kind::dtype)) dtype = a["dtype"].dtype;
  if (fill.is(Value::Kind::tensor)) return Value::of(to.expand(to.cast(fill.node, dtype), shape));
  return Value::of(to.map(dtype, shape, [&](const Axes&) { return to.number_term(fill, dtype); }));
}

Value lower_arange(Lowering& to, const Arguments& a) {
  const std::vector<Value>& given = a["args"].items;
  if (given.empty() || given.size() > 3) {
    to.fail("`arange` with such arguments");
    return {};
  }
  const Value zero = Value::of_whole(0), one = Value::of_whole(1);
  const Value start = given.size() > 1 ? given[0] : zero, end = given.size() > 1 ? given[1] : given[0];
  const Value step = given.size() > 2 ? given[2] : one;
  const Dtype dtype = a["dtype"].is(Value::Kind::dtype) ? a["dtype"].dtype : to.promoted({start, end, step});
  const auto whole_of = [&](const Value& value, std::string_view what) {
    if (!value.is(Value::Kind::real)) return to.whole(value, what);
    const double number = to.constant_real(value, what);
    if (number != std::floor(number)) to.fail("`arange` with fractions");
    return Extent(static_cast<std::int64_t>(number));
  };
  const Extent first = whole_of(start, "start"), by = whole_of(step, "step");
  const Extent distance = whole_of(end, "end") - first;
  if (to.failed() || by.constant().value_or(1) == 0) return {};
  const bool down = by.constant().value_or(1) < 0;
  const Extent count =
      down ? quotient(Extent(0) - distance - by - Extent(1), Extent(0) - by) : quotient(distance + by - Extent(1), by);
  return Value::of(to.map(dtype, {count}, [&](const Axes& at) {
    return to.add(to.number_term(Value::of_whole(first), dtype),
                  to.multiply(to.graph.cast(at[0], dtype), to.number_term(Value::of_whole(by), dtype)));
  }));
}

Value lower_linspace(Lowering& to, const Arguments& a) {
  const Extent steps = to.whole(a["steps"], "steps");
  const Dtype dtype = a["dtype"].is(Value::Kind::dtype) ? a["dtype"].dtype : Dtype::float32;
  return Value::of(to.map(dtype, {steps}, [&](const Axes& at) {
    const TermId first = to.number_term(a["start"], dtype), last = to.number_term(a["end"], dtype);
    const TermId by = to.divide(to.subtract(last, first), to.number_term(Value::of_whole(steps - Extent(1)), dtype));
    return to.add(first, to.multiply(to.graph.cast(at[0], dtype), by));
  }));
}

Value lower_eye(Lowering& to, const Arguments& a) {
  const Extent rows = to.whole(a["n"], "n"), cols = a["m"].is(Value::Kind::whole) ? a["m"].whole : rows;
  const Dtype dtype = a["dtype"].is(Value::Kind::dtype) ? a["dtype"].dtype : Dtype::float32;
  return Value::of(to.map(dtype, {rows, cols}, [&](const Axes& at) {
    return to.graph.cast(to.graph.apply(ScalarOp::equal, at[0], at[1]), dtype);
  }));
}

Value lower_tensor(Lowering& to, const Arguments& a) {
  const NodeId x = to.tensor(a["data"], "data");
  return Value::of(a["dtype"].is(Value::Kind::dtype) ? to.cast(x, a["dtype"].dtype) : x);
}

}  // namespace

std::span<const Operation> tensor_operations() {
  static const std::vector<Operation> table{
      {"to type type_as", "input, dtype=None, other=None, non_blocking=False, copy=False, device=None", lower_to},
      {"float double half bfloat16 int long bool char byte", "input", lower_cast},
      {"zeros_like ones_like empty_like",
       "input, dtype=None, layout=None, device=None, memory_format=None, pin_memory=None", lower_filled},
      {"full_like", "input, fill_value, dtype=None, layout=None, device=None, memory_format=None, pin_memory=None",
       lower_filled},
      {"zeros ones empty", "*size, dtype=None, layout=None, device=None, pin_memory=None", lower_filled},
      {"full", "size, fill_value, dtype=None, layout=None, device=None, pin_memory=None", lower_filled},
      {"new_zeros new_ones new_empty", "input, *size, dtype=None, layout=None, device=None, pin_memory=None",
       lower_filled},
      {"new_full", "input, size, fill_value, dtype=None, layout=None, device=None, pin_memory=None", lower_filled},
      {"arange", "*args, dtype=None, layout=None, device=None, pin_memory=None", lower_arange},
      {"linspace", "start, end, steps, dtype=None, layout=None, device=None, pin_memory=None", lower_linspace},
      {"eye", "n, m=None, dtype=None, layout=None, device=None, pin_memory=None", lower_eye},
      {"tensor scalar_tensor", "data, dtype=None, device=None, layout=None, pin_memory=None", lower_tensor},
  };
  return table;
}

}  // namespace kw::program
