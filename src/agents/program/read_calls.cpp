// Names with a dot, calls of the table of operations, and Python's own functions.

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <numbers>

#include "agents/program/program_reader.h"

namespace kw::program {

using Kind = Value::Kind;

std::optional<Dtype> ProgramReader::dtype_named(std::string_view name) {
  static const std::map<std::string_view, std::string_view> others{
      {"float", "float32"}, {"double", "float64"}, {"half", "float16"}, {"long", "int64"}, {"int", "int32"}};
  const auto found = others.find(name);
  return dtype_from_name(found == others.end() ? name : found->second);
}

Value ProgramReader::attribute(const Value& object, const PythonNode& node) {
  if (to_.failed()) return {};
  if (object.is(Kind::path)) {
    if (!object.items.empty()) return refuse(quoted("." + node.text), node.line);
    const std::string& base = object.text;
    if (base == "torch" || base == "math") {
      if (node.text == "inf") return real(std::numeric_limits<double>::infinity());
      if (node.text == "pi") return real(std::numbers::pi);
      if (node.text == "e" && base == "math") return real(std::numbers::e);
      if (const auto dtype = base == "torch" ? dtype_named(node.text) : std::nullopt) {
        Value made;
        made.kind = Kind::dtype;
        made.dtype = *dtype;
        return made;
      }
    }
    return path(base + "." + node.text);
  }
  if (object.is(Kind::tensor)) {
    const NodeId x = object.node;
    if (node.text == "shape") return shape_of(x);
    if (node.text == "T" || node.text == "mT") return operation(node.text == "T" ? "t" : "mT", {object}, node.line);
    if (node.text == "dtype") {
      Value made;
      made.kind = Kind::dtype;
      made.dtype = to_.dtype(x);
      return made;
    }
    if (node.text == "ndim") return Value::of_whole(to_.rank(x));
    if (node.text == "device") return path("device");
    if (node.text == "values" || node.text == "indices") return refuse(quoted("." + node.text), node.line);
    Value method = path("." + node.text);
    method.items.push_back(object);
    return method;
  }
  if (object.is(Kind::list) && object.items.size() == 2 && (node.text == "values" || node.text == "indices"))
    return object.items[node.text == "values" ? 0 : 1];
  return refuse(quoted("." + node.text), node.line);
}

Value ProgramReader::shape_of(NodeId x) {
  std::vector<Value> items;
  for (const Extent& extent : to_.shape(x)) items.push_back(Value::of_whole(extent));
  return Value::of_list(std::move(items));
}

Value ProgramReader::call(const PythonNode& node) {
  const Value callee = evaluate(node.parts[0]);
  std::vector<Value> values;
  for (std::size_t i = 1; i < node.parts.size(); ++i) values.push_back(evaluate(node.parts[i]));
  if (to_.failed()) return {};
  if (!callee.is(Kind::path)) return refuse("a call of what is no function", node.line);
  to_.line = node.line;
  std::vector<std::string> keys = node.keys;
  if (!callee.items.empty()) {
    const std::string name = callee.text.substr(1);
    const NodeId x = callee.items[0].node;
    if (name == "size" && values.empty()) return shape_of(x);
    if (name == "size") {
      const int axis = to_.axis(values[0], to_.rank(x));
      if (to_.failed() || to_.rank(x) == 0) return {};
      return Value::of_whole(to_.shape(x)[static_cast<std::size_t>(axis)]);
    }
    if (name == "dim" || name == "ndimension") return Value::of_whole(to_.rank(x));
    if (name == "numel" || name == "nelement") return Value::of_whole(elements_of(to_.shape(x)));
    if (name == "item") return callee.items[0];
    values.insert(values.begin(), callee.items[0]);
    keys.insert(keys.begin(), "");
    return lower("", name, values, keys, node.line);
  }
  const std::size_t dot = callee.text.rfind('.');
  if (dot == std::string::npos) return builtin(callee.text, values, node.line);
  const std::string module = callee.text.substr(0, dot), name = callee.text.substr(dot + 1);
  if (module == "math") return builtin(callee.text, values, node.line);
  static const std::array<std::string_view, 7> modules{
      "torch", "F", "torch.nn.functional", "torch.special", "torch.linalg", "nn.functional", "torch.Tensor"};
  if (std::find(modules.begin(), modules.end(), module) == modules.end()) return refuse(quoted(callee.text), node.line);
  if (name == "device") return path("device");
  return lower(module == "nn.functional" ? "F" : module, name, values, keys, node.line);
}

Value ProgramReader::builtin(const std::string& name, const std::vector<Value>& values, int line) {
  to_.operation = name;
  if (name == "float" && values.size() == 1 && values[0].is(Kind::text)) {
    if (values[0].text == "inf") return real(std::numeric_limits<double>::infinity());
    if (values[0].text == "-inf") return real(-std::numeric_limits<double>::infinity());
  } else if (name == "float" && values.size() == 1 && values[0].is_number()) {
    return real_term(to_.number_term(values[0], Dtype::float64));
  } else if (name == "int" && values.size() == 1 && values[0].is(Kind::whole)) {
    return values[0];
  } else if (name == "int" && values.size() == 1 && values[0].is(Kind::real) &&
             to_.graph.term(values[0].real).kind == TermKind::real) {
    return Value::of_whole(static_cast<std::int64_t>(std::clamp(to_.graph.term(values[0].real).real, -9e15, 9e15)));
  } else if (name == "len" && values.size() == 1 && values[0].is(Kind::list)) {
    return Value::of_whole(static_cast<std::int64_t>(values[0].items.size()));
  } else if (name == "abs" && values.size() == 1 && values[0].is(Kind::tensor)) {
    return operation("abs", values, line);
  } else if ((name == "max" || name == "min") && values.size() == 2 && values[0].is(Kind::whole) &&
             values[1].is(Kind::whole)) {
    const bool ordered = to_.at_most(values[0].whole, values[1].whole);
    if (ordered || to_.at_most(values[1].whole, values[0].whole)) return values[ordered == (name == "max") ? 1 : 0];
  } else if (name.starts_with("math.") && values.size() == 1 && values[0].is_number()) {
    static const std::map<std::string_view, ScalarOp> functions{
        {"sqrt", ScalarOp::square_root}, {"exp", ScalarOp::exp}, {"log", ScalarOp::log}, {"log2", ScalarOp::log2},
        {"tanh", ScalarOp::tanh},        {"sin", ScalarOp::sin}, {"cos", ScalarOp::cos}, {"erf", ScalarOp::erf}};
    const auto op = functions.find(std::string_view(name).substr(5));
    if (op != functions.end())
      return real_term(to_.graph.apply(op->second, to_.number_term(values[0], Dtype::float64)));
  } else if (name == "math.pow" && values.size() == 2 && values[0].is_number() && values[1].is_number()) {
    return real_term(to_.graph.apply(ScalarOp::power, to_.number_term(values[0], Dtype::float64),
                                     to_.number_term(values[1], Dtype::float64)));
  }
  return refuse(quoted(name), line);
}

}  // namespace kw::program
