#include "agents/normal_form/operation.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace kw {
namespace {

class Reading {
 public:
  Reading(const Task& task, const PythonFunction& function) : task_(task), function_(function) {}

  Result<Operation> read() {
    made_.book.whole_numbers_only = std::none_of(task_.inputs.begin(), task_.inputs.end(), [](const TensorSpec& input) {
      return is_floating_point(input.dtype);
    });
    for (const PythonParameter& parameter : function_.parameters)
      if (!declare(parameter))
        return not_known(fmt::format("{}, which is neither an input nor a size", quoted(parameter.name)));
    for (const PythonAssignment& assignment : function_.assignments) {
      std::vector<int> values;
      if (assignment.names.size() == 1) {
        values = {term(assignment.value)};
      } else {
        const PythonNode& value = node(assignment.value);
        if (value.kind == PythonKind::tuple && value.parts.size() == assignment.names.size()) {
          for (const int part : value.parts) values.push_back(term(part));
        } else {
          const int whole = term(assignment.value);
          for (std::size_t i = 0; i < assignment.names.size(); ++i)
            values.push_back(whole < 0 ? -1 : make_subscript(book(), whole, {book().number(static_cast<double>(i))}));
        }
      }
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (values[i] < 0) return what_failed(assignment.value);
        known_[assignment.names[i]] = values[i];
        made_.locals.emplace(values[i], assignment.names[i]);
      }
    }
    for (const int result : function_.results) {
      const PythonNode& value = node(result);
      const bool several = value.kind == PythonKind::tuple || value.kind == PythonKind::list;
      for (const int part : several ? value.parts : std::vector<int>{result}) made_.results.push_back(term(part));
    }
    for (const int result : made_.results)
      if (result < 0) return what_failed(function_.results[0]);
    if (made_.results.size() != task_.outputs.size())
      return not_known(fmt::format("{} results for {} outputs", made_.results.size(), task_.outputs.size()),
                       node(function_.results[0]).line);
    return std::move(made_);
  }

 private:
  TermBook& book() { return made_.book; }
  const PythonNode& node(int at) const { return function_.nodes[static_cast<std::size_t>(at)]; }

  bool declare(const PythonParameter& parameter) {
    Term term;
    term.text = parameter.name;
    const auto input = std::find_if(task_.inputs.begin(), task_.inputs.end(),
                                    [&](const TensorSpec& each) { return each.name == parameter.name; });
    if (input != task_.inputs.end()) {
      term.kind = TermKind::input;
      made_.parameters.push_back(parameter.name);
      term.floating = is_floating_point(input->dtype);
      term.shape.emplace();
      for (const Expression& extent : input->shape) term.shape->push_back(extent.text());
    } else if (std::find(task_.size_names.begin(), task_.size_names.end(), parameter.name) != task_.size_names.end()) {
      term.kind = TermKind::size;
      term.shape.emplace();
    } else {
      return false;
    }
    const int id = book().add(std::move(term));
    known_[parameter.name] = id;
    return id >= 0;
  }

  // The innermost node that gave no term; `otherwise` where none was noted.
  Error what_failed(int otherwise) const {
    const Construct construct = construct_of(failed_ >= 0 ? failed_ : otherwise);
    return not_known(construct.full, construct.line);
  }

  Construct construct_of(int at) const {
    const PythonNode& own = node(at);
    const auto piece = [&](const PythonNode& of) {
      return quoted(std::string_view(task_.pytorch).substr(of.begin, of.end - of.begin));
    };
    Construct made{piece(own), piece(own), own.line};
    if (own.kind != PythonKind::call) return made;
    const PythonNode& callee = node(own.parts[0]);
    made.name =
        callee.kind == PythonKind::attribute && !dotted(own.parts[0]) ? quoted("." + callee.text) : piece(callee);
    return made;
  }

  // `torch.nn.functional.relu`: text, where it is no value.
  std::optional<std::string> dotted(int at) const {
    const PythonNode& own = node(at);
    if (own.kind == PythonKind::name) {
      if (known_.contains(own.text)) return std::nullopt;
      return own.text;
    }
    if (own.kind != PythonKind::attribute) return std::nullopt;
    const auto before = dotted(own.parts[0]);
    if (!before) return std::nullopt;
    if (*before == "torch.nn.functional" || *before == "nn.functional") return "F." + own.text;
    return *before + "." + own.text;
  }

  // A node's term. Terms that are made on the way belong to the innermost node that made them.
  int term(int at) {
    if (at < 0) return -1;
    const std::size_t before = book().size();
    const int made = unnoted_term(at);
    if (made < 0 && failed_ < 0) failed_ = at;
    for (std::size_t id = before; id < book().size(); ++id)
      if (!made_.constructs.contains(static_cast<int>(id)))
        made_.constructs.emplace(static_cast<int>(id), construct_of(at));
    return made;
  }

  int unnoted_term(int at) {
    const PythonNode& own = node(at);
    switch (own.kind) {
      case PythonKind::name:
      case PythonKind::attribute: {
        if (own.kind == PythonKind::name)
          if (const auto found = known_.find(own.text); found != known_.end()) return found->second;
        if (const auto text = dotted(at)) {
          const bool module = text->starts_with("torch.") || text->starts_with("math.");
          return module ? book().word(*text) : -1;
        }
        return make_attribute(book(), term(own.parts[0]), own.text);
      }
      case PythonKind::number:
        return number(own.text);
      case PythonKind::string:
        return book().word("\"" + own.text + "\"");
      case PythonKind::constant:
        return book().word(own.text);
      case PythonKind::minus:
        return make_scalar(book(), Op::negate, term(own.parts[0]));
      case PythonKind::binary:
        return binary(own);
      case PythonKind::compare:
        return compare(own);
      case PythonKind::call:
        return call(own);
      case PythonKind::subscript:
        return subscript(own);
      case PythonKind::tuple:
      case PythonKind::list: {
        std::vector<int> parts;
        for (const int part : own.parts) parts.push_back(term(part));
        return make_python(book(), "list", std::move(parts));
      }
      case PythonKind::invert:
      case PythonKind::slice:
        return -1;
    }
    return -1;
  }

  int number(const std::string& text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return -1;
    // A fraction makes a tensor of whole numbers one of fractions: there it stays as it is written.
    if (!book().whole_numbers_only || text.find_first_of(".eE") == std::string::npos) return book().number(value);
    Term term;
    term.kind = TermKind::word;
    term.text = text;
    term.floating = true;
    term.shape.emplace();
    return book().add(std::move(term));
  }

  int binary(const PythonNode& own) {
    const int left = term(own.parts[0]), right = term(own.parts[1]);
    if (left < 0 || right < 0) return -1;
    if (own.text == "+") return make_scalar(book(), Op::add, left, right);
    if (own.text == "-") return make_scalar(book(), Op::subtract, left, right);
    if (own.text == "*") return make_scalar(book(), Op::multiply, left, right);
    if (own.text == "/") return make_scalar(book(), Op::divide, left, right);
    if (own.text == "**") return make_power(book(), left, right);
    if (own.text == "@") return make_matmul(book(), left, right);
    return make_python(book(), own.text, {left, right}, {}, true);
  }

  int compare(const PythonNode& own) {
    int left = term(own.parts[0]), right = term(own.parts[1]);
    if (left < 0 || right < 0) return -1;
    std::string sign = own.text;
    if (book().is_flat(left) && !book().is_flat(right)) {
      static const std::map<std::string, std::string> turned{{"<", ">"},   {">", "<"},   {"<=", ">="},
                                                             {">=", "<="}, {"==", "=="}, {"!=", "!="}};
      sign = turned.at(sign);
      std::swap(left, right);
    }
    return make_python(book(), sign, {left, right}, {}, true);
  }

  int call(const PythonNode& own) {
    CallArguments made;
    const int callee = own.parts[0];
    if (auto name = dotted(callee)) {
      made.name = *name;
    } else if (node(callee).kind == PythonKind::attribute) {
      made.name = "." + node(callee).text;
      made.values.push_back(term(node(callee).parts[0]));
      made.keys.emplace_back();
    } else {
      return -1;
    }
    for (std::size_t i = 0; i < own.keys.size(); ++i) {
      made.values.push_back(term(own.parts[i + 1]));
      made.keys.push_back(own.keys[i]);
    }
    for (const int value : made.values)
      if (value < 0) return -1;
    return make_call(book(), made);
  }

  int subscript(const PythonNode& own) {
    const int value = term(own.parts[0]);
    const PythonNode& index = node(own.parts[1]);
    std::vector<int> entries;
    for (const int part : index.kind == PythonKind::tuple ? index.parts : std::vector<int>{own.parts[1]}) {
      const PythonNode& entry = node(part);
      if (entry.kind != PythonKind::slice) {
        entries.push_back(term(part));
        continue;
      }
      std::vector<int> ends;
      for (const int end : entry.parts) ends.push_back(end < 0 ? book().word("") : term(end));
      entries.push_back(make_python(book(), ":", std::move(ends)));
    }
    for (const int entry : entries)
      if (entry < 0) return -1;
    return value < 0 ? -1 : make_subscript(book(), value, entries);
  }

  const Task& task_;
  const PythonFunction& function_;
  Operation made_;
  std::map<std::string, int> known_;
  int failed_ = -1;  // the first node that is not understood
};

}  // namespace

Result<Operation> read_operation(const Task& task) {
  KW_TRY(const PythonFunction function, parse_python(task.pytorch));
  return Reading(task, function).read();
}

int make_python(TermBook& book, std::string syntax, std::vector<int> parts, std::vector<std::string> keys,
                bool elementwise) {
  Term term;
  term.kind = TermKind::python;
  term.text = std::move(syntax);
  std::vector<TermShape> shapes;
  for (const int part : parts) {
    if (part < 0) return -1;
    shapes.push_back(book.at(part).shape);
    term.floating = term.floating || book.at(part).floating;
  }
  static constexpr std::string_view comparisons[] = {"<", "<=", ">", ">=", "==", "!="};
  if (std::find(std::begin(comparisons), std::end(comparisons), term.text) != std::end(comparisons))
    term.floating = false;
  term.parts = std::move(parts);
  term.keys = std::move(keys);
  term.elementwise = elementwise;
  if (elementwise) term.shape = broadcast(shapes);
  return book.add(std::move(term));
}

}  // namespace kw
