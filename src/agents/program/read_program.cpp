#include "agents/program/read_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numbers>

#include "agents/program/lowering.h"
#include "agents/program/operation_table.h"
#include "agents/program/python_text.h"

namespace kw::program {
namespace {

using Kind = Value::Kind;

class Reader {
 public:
  Reader(const Task& task, const PythonFunction& python, Graph& graph)
      : task_(task), python_(python), to_(task, graph) {}

  Result<void> read() {
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

 private:
  Result<void> add_inputs() {
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

  Result<void> assign(const PythonAssignment& to, const Value& value) {
    if (to.names.size() == 1) {
      names_[to.names[0]] = value;
      return {};
    }
    if (!value.is(Kind::list) || value.items.size() != to.names.size())
      return not_understood(fmt::format("an assignment to {} names", to.names.size()), line_of(to.value));
    for (std::size_t i = 0; i < to.names.size(); ++i) names_[to.names[i]] = value.items[i];
    return {};
  }

  Result<void> add_outputs(const std::vector<Value>& results) {
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

  int line_of(int node) const { return python_.nodes[static_cast<std::size_t>(node)].line; }

  Value refuse(const std::string& what, int line) {
    to_.line = line;
    to_.fail(what);
    return {};
  }
  static Value path(std::string text) {
    Value made;
    made.kind = Kind::path;
    made.text = std::move(text);
    return made;
  }
  Value real(double value) {
    Value made;
    made.kind = Kind::real;
    made.real = to_.graph.real(value, Dtype::float64);
    return made;
  }
  Value real_term(TermId term) {
    Value made;
    made.kind = Kind::real;
    made.real = term;
    return made;
  }

  Value evaluate(int id) {
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

  Value number(const PythonNode& node) {
    if (node.text.find_first_of(".eE") != std::string::npos) return real(std::strtod(node.text.c_str(), nullptr));
    if (node.text.size() > 18) return refuse(quoted(node.text), node.line);
    return Value::of_whole(std::strtoll(node.text.c_str(), nullptr, 10));
  }

  Value negated(const Value& value, int line) {
    if (value.is(Kind::whole)) return Value::of_whole(Extent(0) - value.whole);
    if (value.is(Kind::real)) return real_term(to_.graph.apply(ScalarOp::negate, value.real));
    return operation("neg", {value}, line);
  }

  // A name of the table of operations, with arguments by position.
  Value operation(const std::string& name, const std::vector<Value>& values, int line) {
    return lower("torch", name, values, std::vector<std::string>(values.size()), line);
  }

  Value lower(std::string_view module, const std::string& name, const std::vector<Value>& values,
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

  Value binary(const PythonNode& node) {
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
  Value arithmetic(const PythonNode& node, const Value& left, const Value& right) {
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

  static std::optional<Dtype> dtype_named(std::string_view name) {
    static const std::map<std::string_view, std::string_view> others{
        {"float", "float32"}, {"double", "float64"}, {"half", "float16"}, {"long", "int64"}, {"int", "int32"}};
    const auto found = others.find(name);
    return dtype_from_name(found == others.end() ? name : found->second);
  }

  Value attribute(const Value& object, const PythonNode& node) {
    if (to_.failed()) return {};
    if (object.is(Kind::path)) {
      if (!object.items.empty()) return refuse(quoted("." + node.text), node.line);
      const std::string& base = object.text;
      if (base == "torch" || base == "math") {
        if (node.text == "inf") return real(INFINITY);
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

  Value shape_of(NodeId x) {
    std::vector<Value> items;
    for (const Extent& extent : to_.shape(x)) items.push_back(Value::of_whole(extent));
    return Value::of_list(std::move(items));
  }

  Value call(const PythonNode& node) {
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
    if (std::find(modules.begin(), modules.end(), module) == modules.end())
      return refuse(quoted(callee.text), node.line);
    if (name == "device") return path("device");
    return lower(module == "nn.functional" ? "F" : module, name, values, keys, node.line);
  }

  Value builtin(const std::string& name, const std::vector<Value>& values, int line) {
    to_.operation = name;
    if (name == "float" && values.size() == 1 && values[0].is(Kind::text)) {
      if (values[0].text == "inf") return real(INFINITY);
      if (values[0].text == "-inf") return real(-INFINITY);
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

  // ---- Brackets ----

  Value subscript(const PythonNode& node) {
    const Value object = evaluate(node.parts[0]);
    if (to_.failed()) return {};
    if (object.is(Kind::list)) return entry_of(object, node);
    if (!object.is(Kind::tensor)) return refuse("brackets behind what is no tensor", node.line);
    const PythonNode& inside = python_.nodes[static_cast<std::size_t>(node.parts[1])];
    std::vector<int> entries = inside.kind == PythonKind::tuple ? inside.parts : std::vector<int>{node.parts[1]};
    to_.operation = "index";
    NodeId x = object.node;
    int axis = 0;
    std::vector<std::pair<int, NodeId>> gathered;  // axes that tensors index
    for (std::size_t e = 0; e < entries.size(); ++e) {
      const PythonNode& entry = python_.nodes[static_cast<std::size_t>(entries[e])];
      if (entry.kind == PythonKind::name && entry.text == "...") {
        int used = 0;  // by the entries behind it
        for (std::size_t k = e + 1; k < entries.size(); ++k) {
          const PythonNode& other = python_.nodes[static_cast<std::size_t>(entries[k])];
          if (!(other.kind == PythonKind::constant && other.text == "None")) ++used;
        }
        axis = to_.rank(x) - used;
        continue;
      }
      if (entry.kind == PythonKind::slice) {
        if (axis >= to_.rank(x)) return refuse("more indices than dimensions", node.line);
        x = slice(x, axis++, entry);
      } else {
        const Value value = evaluate(entries[e]);
        to_.operation = "index";
        if (to_.failed()) return {};
        if (value.is(Kind::none)) {
          x = to_.unsqueeze(x, axis++);
        } else if (axis >= to_.rank(x) || axis < 0) {
          return refuse("more indices than dimensions", node.line);
        } else if (value.is(Kind::whole)) {
          Extent place = value.whole;
          if (place.constant().value_or(0) < 0) place = place + to_.shape(x)[static_cast<std::size_t>(axis)];
          x = selected(x, axis, place);
        } else if (value.is(Kind::tensor) && to_.dtype(value.node) != Dtype::boolean &&
                   !is_floating_point(to_.dtype(value.node))) {
          gathered.emplace_back(axis++, value.node);
        } else {
          return refuse("an index of this kind", node.line);
        }
      }
      if (to_.failed()) return {};
    }
    return gathered.empty() ? Value::of(x) : gather(x, gathered, node.line);
  }

  NodeId selected(NodeId x, int axis, const Extent& place) {
    Extents shape = to_.shape(x);
    shape.erase(shape.begin() + axis);
    return to_.map(to_.dtype(x), shape, [&](Axes at) {
      at.insert(at.begin() + axis, to_.size(place));
      return to_.graph.load(x, at);
    });
  }

  Value entry_of(const Value& list, const PythonNode& node) {
    const PythonNode& inside = python_.nodes[static_cast<std::size_t>(node.parts[1])];
    const auto count = static_cast<std::int64_t>(list.items.size());
    if (inside.kind == PythonKind::slice) {
      std::int64_t ends[2] = {0, count};
      for (std::size_t i = 0; i < 2; ++i) {
        if (inside.parts[i] < 0) continue;
        const std::int64_t given = to_.constant_whole(evaluate(inside.parts[i]), "index");
        ends[i] = std::clamp<std::int64_t>(given < 0 ? given + count : given, 0, count);
      }
      if (to_.failed() || inside.parts[2] >= 0) return refuse("a slice of a list", node.line);
      return Value::of_list({list.items.begin() + ends[0], list.items.begin() + std::max(ends[0], ends[1])});
    }
    std::int64_t place = to_.constant_whole(evaluate(node.parts[1]), "index");
    if (place < 0) place += count;
    if (to_.failed() || place < 0 || place >= count) return refuse("an index beyond the end of a list", node.line);
    return list.items[static_cast<std::size_t>(place)];
  }

  NodeId slice(NodeId x, int axis, const PythonNode& node) {
    const Extent extent = to_.shape(x)[static_cast<std::size_t>(axis)];
    const auto end_of = [&](int part, const Extent& otherwise) {
      if (part < 0) return otherwise;
      const Value value = evaluate(part);
      if (value.is(Kind::none)) return otherwise;
      Extent given = to_.whole(value, "index");
      if (given.constant() ? *given.constant() < 0 : to_.at_most(given, Extent(-1))) given = given + extent;
      if (to_.at_most(given, extent)) return given;
      if (to_.at_most(extent, given)) return extent;
      to_.fail("a slice whose end depends on sizes");
      return otherwise;
    };
    const Extent begin = end_of(node.parts[0], Extent(0)), end = end_of(node.parts[1], extent);
    const std::int64_t step = node.parts[2] < 0 ? 1 : to_.constant_whole(evaluate(node.parts[2]), "step");
    if (step < 1) to_.fail("a slice with such a step");
    if (to_.failed()) return 0;
    if (begin.is(0) && end == extent && step == 1) return x;
    const Extent length = quotient(end - begin + Extent(step - 1), step);
    if (!to_.at_most(Extent(1), length)) to_.fail(fmt::format("a slice of {} elements", length.text()));
    to_.operation = "slice";
    return to_.narrow(x, axis, begin, length, step);
  }

  // Index tensors of neighbouring axes, broadcast together, take the place of those axes. A negative index counts from
  // the end.
  Value gather(NodeId x, const std::vector<std::pair<int, NodeId>>& gathered, int line) {
    for (std::size_t i = 1; i < gathered.size(); ++i)
      if (gathered[i].first != gathered[i - 1].first + 1) return refuse("index tensors that are apart", line);
    Extents together;
    for (const auto& [axis, index] : gathered) together = to_.broadcast(together, to_.shape(index));
    const int first = gathered[0].first;
    const Extents from = to_.shape(x);
    Extents made(from.begin(), from.begin() + first);
    made.insert(made.end(), together.begin(), together.end());
    made.insert(made.end(), from.begin() + first + static_cast<int>(gathered.size()), from.end());
    if (to_.failed()) return {};
    return Value::of(to_.map(to_.dtype(x), made, [&](const Axes& at) {
      const auto begin = at.begin() + first;
      const Axes inner(begin, begin + static_cast<std::ptrdiff_t>(together.size()));
      Axes place(at.begin(), begin);
      for (const auto& [axis, index] : gathered) {
        const TermId raw = to_.graph.cast(to_.read(index, inner), Dtype::int32);
        const TermId wrapped = to_.add(raw, to_.size(from[static_cast<std::size_t>(axis)]));
        place.push_back(to_.graph.select(to_.less(raw, to_.index(0)), wrapped, raw));
      }
      place.insert(place.end(), begin + static_cast<std::ptrdiff_t>(together.size()), at.end());
      return to_.graph.load(x, place);
    }));
  }

  const Task& task_;
  const PythonFunction& python_;
  Lowering to_;
  std::map<std::string, NodeId> inputs_;
  std::map<std::string, Value> names_;
};

}  // namespace

Result<Graph> read_program(const Task& task) {
  PythonLimits limits;
  limits.reader = "the reader of programs";
  KW_TRY(const PythonFunction python, parse_python(task.pytorch, limits));
  Graph graph;
  KW_TRY_VOID(Reader(task, python, graph).read());
  return graph;
}

}  // namespace kw::program
