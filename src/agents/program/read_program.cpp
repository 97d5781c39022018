#include "agents/program/read_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "agents/program/operation_table.h"
#include "agents/program/program_reader.h"

namespace kw::program {

using Kind = Value::Kind;

Result<void> ProgramReader::read() {
  KW_TRY_VOID(add_inputs());
  for (const PythonAssignment& each : python_.assignments) {
    const Value value = evaluate(each.value);
    if (to_.failed()) return to_.error();
    KW_TRY_VOID(assign(each, value));
  }
  std::vector<Value> results;
  for (const int node : python_.results) results.push_back(evaluate(node));
  if (to_.failed()) return to_.error();
  if (results.size() == 1 && results[0].is(Kind::list)) results = std::vector<Value>(results[0].items);
  return add_outputs(results);
}

Result<void> ProgramReader::add_inputs() {
  for (std::size_t i = 0; i < task_.inputs.size(); ++i) {
    const TensorSpec& spec = task_.inputs[i];
    Node node;
    node.kind = NodeKind::input;
    node.dtype = spec.dtype;
    node.operation = spec.name;
    node.place = static_cast<int>(i);
    for (const Expression& expression : spec.shape) {
      KW_TRY(Extent extent, Extent::of(expression));
      node.shape.push_back(std::move(extent));
    }
    inputs_[spec.name] = to_.graph.add(std::move(node));
  }
  if (task_.inputs.empty()) return not_understood("no input", 0);
  for (const PythonParameter& parameter : python_.parameters) {
    const auto input = inputs_.find(parameter.name);
    if (input != inputs_.end())
      names_[parameter.name] = Value::of(input->second);
    else if (std::find(task_.size_names.begin(), task_.size_names.end(), parameter.name) != task_.size_names.end())
      names_[parameter.name] = Value::of_whole(Extent::named(parameter.name));
    else
      return not_understood(fmt::format("the parameter {}", quoted(parameter.name)), 1);
  }
  return {};
}

Result<void> ProgramReader::assign(const PythonAssignment& to, const Value& value) {
  if (to.names.size() == 1) {
    names_[to.names[0]] = value;
    return {};
  }
  if (!value.is(Kind::list) || value.items.size() != to.names.size())
    return not_understood(fmt::format("an assignment to {} names", to.names.size()), line_of(to.value));
  for (std::size_t i = 0; i < to.names.size(); ++i) names_[to.names[i]] = value.items[i];
  return {};
}

Result<void> ProgramReader::add_outputs(const std::vector<Value>& results) {
  to_.operation = "output";
  to_.line = line_of(python_.results[0]);
  if (results.size() != task_.outputs.size())
    return not_understood(fmt::format("{} results for {} outputs", results.size(), task_.outputs.size()), to_.line);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const TensorSpec& spec = task_.outputs[i];
    NodeId node = to_.tensor(results[i], spec.name);
    if (to_.failed()) return to_.error();
    Extents shape;
    for (const Expression& expression : spec.shape) {
      KW_TRY(Extent extent, Extent::of(expression));
      shape.push_back(std::move(extent));
    }
    // A number is an output of one element.
    if (to_.rank(node) == 0 && !shape.empty() && to_.is_one(elements_of(shape))) node = to_.reshape(node, shape);
    bool fits = shape.size() == to_.shape(node).size();
    for (std::size_t k = 0; k < shape.size() && fits; ++k) fits = to_.same(shape[k], to_.shape(node)[k]);
    if (!fits)
      return not_understood(fmt::format("a result whose shape is not that of the output `{}`", spec.name), to_.line);
    const auto& outputs = to_.graph.outputs;
    const bool fresh = to_.graph.node(node).kind != NodeKind::input && to_.dtype(node) == spec.dtype &&
                       std::find(outputs.begin(), outputs.end(), node) == outputs.end();
    if (!fresh) {
      const NodeId from = node;
      node = to_.map(spec.dtype, to_.shape(from), [&](const Axes& at) { return to_.read(from, at); });
    }
    if (to_.failed()) return to_.error();
    to_.graph.outputs.push_back(node);
  }
  return {};
}

int ProgramReader::line_of(int node) const { return python_.nodes[static_cast<std::size_t>(node)].line; }

Value ProgramReader::refuse(const std::string& what, int line) {
  to_.line = line;
  to_.fail(what);
  return {};
}

Value ProgramReader::path(std::string text) {
  Value made;
  made.kind = Kind::path;
  made.text = std::move(text);
  return made;
}

Value ProgramReader::real(double value) {
  Value made;
  made.kind = Kind::real;
  made.real = to_.graph.real(value, Dtype::float64);
  return made;
}

Value ProgramReader::real_term(TermId term) {
  Value made;
  made.kind = Kind::real;
  made.real = term;
  return made;
}

Value ProgramReader::evaluate(int id) {
  if (to_.failed()) return {};
  const PythonNode& node = python_.nodes[static_cast<std::size_t>(id)];
  to_.line = node.line;
  switch (node.kind) {
    case PythonKind::name: {
      const auto found = names_.find(node.text);
      return found != names_.end() ? found->second : path(node.text);
    }
    case PythonKind::number:
      return number(node);
    case PythonKind::string: {
      Value made;
      made.kind = Kind::text;
      made.text = node.text;
      return made;
    }
    case PythonKind::constant:
      return node.text == "None" ? Value{} : Value::of_bool(node.text == "True");
    case PythonKind::minus:
      return negated(evaluate(node.parts[0]), node.line);
    case PythonKind::invert:
      return operation("bitwise_not", {evaluate(node.parts[0])}, node.line);
    case PythonKind::binary:
      return binary(node);
    case PythonKind::compare: {
      static const std::map<std::string_view, std::string> named{{"<", "lt"},  {"<=", "le"}, {">", "gt"},
                                                                 {">=", "ge"}, {"==", "eq"}, {"!=", "ne"}};
      return operation(named.at(node.text), {evaluate(node.parts[0]), evaluate(node.parts[1])}, node.line);
    }
    case PythonKind::call:
      return call(node);
    case PythonKind::attribute:
      return attribute(evaluate(node.parts[0]), node);
    case PythonKind::subscript:
      return subscript(node);
    case PythonKind::slice:
      return refuse("a slice outside of brackets", node.line);
    case PythonKind::tuple:
    case PythonKind::list: {
      std::vector<Value> items;
      for (const int part : node.parts) items.push_back(evaluate(part));
      return Value::of_list(std::move(items));
    }
  }
  return {};
}

Value ProgramReader::number(const PythonNode& node) {
  if (node.text.find_first_of(".eE") != std::string::npos) return real(std::strtod(node.text.c_str(), nullptr));
  if (node.text.size() > 18) return refuse(quoted(node.text), node.line);
  return Value::of_whole(std::strtoll(node.text.c_str(), nullptr, 10));
}

Value ProgramReader::negated(const Value& value, int line) {
  if (value.is(Kind::whole)) return Value::of_whole(Extent(0) - value.whole);
  if (value.is(Kind::real)) return real_term(to_.graph.apply(ScalarOp::negate, value.real));
  return operation("neg", {value}, line);
}

// A name of the table of operations, with arguments by position.
Value ProgramReader::operation(const std::string& name, const std::vector<Value>& values, int line) {
  return lower("torch", name, values, std::vector<std::string>(values.size()), line);
}

Value ProgramReader::lower(std::string_view module, const std::string& name, const std::vector<Value>& values,
                           const std::vector<std::string>& keys, int line) {
  if (to_.failed()) return {};
  const TableEntry* entry = find_entry(module, name);
  const std::string plain = entry == nullptr && name.ends_with('_') ? name.substr(0, name.size() - 1) : name;
  if (entry == nullptr) entry = find_entry(module, plain);
  const std::string spelt = module.empty() ? "." + name : fmt::format("{}.{}", module, name);
  if (entry == nullptr) return refuse(quoted(spelt), line);
  to_.line = line;
  to_.operation = plain;
  const auto arguments = bind(to_, *entry, plain, values, keys);
  if (!arguments || to_.failed()) return {};
  return entry->operation->lower(to_, *arguments);
}

Value ProgramReader::binary(const PythonNode& node) {
  const Value left = evaluate(node.parts[0]), right = evaluate(node.parts[1]);
  if (to_.failed()) return {};
  if (left.is_number() && right.is_number()) return arithmetic(node, left, right);
  if (left.is(Kind::list) && right.is(Kind::list) && node.text == "+") {
    std::vector<Value> items = left.items;
    items.insert(items.end(), right.items.begin(), right.items.end());
    return Value::of_list(std::move(items));
  }
  static const std::map<std::string_view, std::string> named{{"+", "add"},
                                                             {"-", "sub"},
                                                             {"*", "mul"},
                                                             {"/", "div"},
                                                             {"//", "floor_divide"},
                                                             {"%", "remainder"},
                                                             {"**", "pow"},
                                                             {"@", "matmul"},
                                                             {"&", "bitwise_and"},
                                                             {"|", "bitwise_or"},
                                                             {"^", "bitwise_xor"},
                                                             {"<<", "bitwise_left_shift"},
                                                             {">>", "bitwise_right_shift"}};
  return operation(named.at(node.text), {left, right}, node.line);
}

// Python's own numbers: whole ones are extents, the others terms of float64.
Value ProgramReader::arithmetic(const PythonNode& node, const Value& left, const Value& right) {
  const bool whole = !left.is(Kind::real) && !right.is(Kind::real);
  const std::string& sign = node.text;
  if (whole && sign != "/") {
    const Extent a = to_.whole(left, "left"), b = to_.whole(right, "right");
    if (sign == "+") return Value::of_whole(a + b);
    if (sign == "-") return Value::of_whole(a - b);
    if (sign == "*") return Value::of_whole(a * b);
    if (sign == "//" && !b.is(0)) return Value::of_whole(quotient(a, b));
    if (sign == "%" && !b.is(0)) return Value::of_whole(a - quotient(a, b) * b);
    const auto power = b.constant();
    if (sign == "**" && power && *power >= 0 && *power <= 16) {
      Extent made(1);
      for (std::int64_t i = 0; i < *power; ++i) made = made * a;
      return Value::of_whole(made);
    }
    const auto known = a.constant();
    if (sign == "<<" && known && power && *power >= 0 && *power < 62 && *known >= 0 && *known < 2)
      return Value::of_whole(*known << *power);
  }
  static const std::map<std::string_view, ScalarOp> ops{
      {"+", ScalarOp::add},    {"-", ScalarOp::subtract},      {"*", ScalarOp::multiply}, {"/", ScalarOp::divide},
      {"**", ScalarOp::power}, {"//", ScalarOp::floor_divide}, {"%", ScalarOp::remainder}};
  const auto op = ops.find(sign);
  if (op == ops.end()) return refuse(fmt::format("`{}` of two numbers", sign), node.line);
  const TermId a = to_.number_term(left, Dtype::float64), b = to_.number_term(right, Dtype::float64);
  return real_term(to_.graph.apply(op->second, a, b));
}

Result<Graph> read_program(const Task& task) {
  PythonLimits limits;
  limits.reader = "the reader of programs";
  KW_TRY(const PythonFunction python, parse_python(task.pytorch, limits));
  Graph graph;
  KW_TRY_VOID(ProgramReader(task, python, graph).read());
  return graph;
}

}  // namespace kw::program
