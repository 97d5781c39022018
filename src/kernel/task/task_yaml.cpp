#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "base/yaml_depth.h"
#include "kernel/task/task_file.h"

namespace kw {
namespace {

constexpr std::size_t max_tensors = 512;  // a deep network has hundreds of parameters
constexpr std::size_t max_rank = 8;
constexpr std::size_t max_size_entries = 64;
constexpr std::size_t max_name_bytes = 64;

// C++ and CUDA words that a parameter of the launcher cannot be called.
const std::set<std::string, std::less<>> reserved_names = {
    "alignas",  "alignof", "and",      "asm",       "auto",     "bool",      "break",     "case",     "catch",
    "char",     "class",   "const",    "constexpr", "continue", "decltype",  "default",   "delete",   "do",
    "double",   "else",    "enum",     "explicit",  "extern",   "false",     "float",     "for",      "friend",
    "goto",     "if",      "inline",   "int",       "long",     "mutable",   "namespace", "new",      "noexcept",
    "not",      "nullptr", "operator", "or",        "private",  "protected", "public",    "register", "return",
    "short",    "signed",  "sizeof",   "static",    "struct",   "switch",    "template",  "this",     "throw",
    "true",     "try",     "typedef",  "typename",  "union",    "unsigned",  "using",     "virtual",  "void",
    "volatile", "while",   "xor",      "stream",    "launch",   "threadIdx", "blockIdx",  "blockDim", "gridDim",
    "warpSize"};

bool is_name(const std::string& text) {
  if (text.empty() || text.size() > max_name_bytes || std::isdigit(static_cast<unsigned char>(text[0]))) return false;
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

// One file's parse: every error gets the position of the YAML node it is about.
class TaskReader {
 public:
  explicit TaskReader(std::string file) : file_(std::move(file)) {}

  Result<Task> read(const YAML::Node& root) {
    Task task;
    task.file = file_;
    if (!root.IsMap()) return error(root, "a task is a map of keys such as name, pytorch, inputs, outputs, sizes");
    KW_TRY_VOID(check_keys(root, {"name", "tier", "family", "split", "summary", "pytorch", "inputs", "outputs", "sizes",
                                  "tolerance", "naive"}));
    KW_TRY(task.name, optional_text(root, "name", name_of_file().c_str()));
    if (!is_name(task.name)) {
      return error(root["name"] ? root["name"] : root,
                   "the name '" + task.name.substr(0, 80) + "' is not made of letters, digits and _");
    }
    if (root["tier"]) {
      KW_TRY(const std::int64_t tier, integer(root["tier"], "'tier'"));
      if (tier < 0 || tier > 3) return error(root["tier"], "the tier is not 0, 1, 2 or 3");
      task.tier = static_cast<int>(tier);
    }
    KW_TRY(task.family, optional_text(root, "family", "other"));
    KW_TRY(task.summary, optional_text(root, "summary", ""));
    KW_TRY(const std::string split, optional_text(root, "split", "train"));
    if (split != "train" && split != "holdout") return error(root["split"], "the split is neither train nor holdout");
    task.split = split == "train" ? Split::train : Split::holdout;
    KW_TRY(task.pytorch, required_text(root, "pytorch"));
    KW_TRY(task.naive, optional_text(root, "naive", ""));
    KW_TRY(task.inputs, tensors(root, "inputs", true));
    KW_TRY(task.outputs, tensors(root, "outputs", false));
    KW_TRY_VOID(collect_size_names(root, task));
    KW_TRY_VOID(read_sizes(root, task));
    if (root["tolerance"]) {
      KW_TRY(task.tolerance, tolerance(root["tolerance"]));
    }
    return task;
  }

  Error error(const YAML::Node& node, std::string message, std::string advice = "") const {
    const YAML::Mark mark = node.Mark();
    const bool known = !mark.is_null();
    return Error{
        std::move(message), std::move(advice), {file_, known ? mark.line + 1 : 0, known ? mark.column + 1 : 0}};
  }

 private:
  // A task without a name is called as its file, or as the folder that holds its task.yaml.
  std::string name_of_file() const {
    const std::filesystem::path path(file_);
    std::string name = (path.stem() == "task" ? path.parent_path().filename() : path.stem()).string();
    for (char& c : name)
      if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
    if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) name = "task_" + name;
    return name.substr(0, max_name_bytes);
  }

  Result<void> check_keys(const YAML::Node& map, const std::vector<std::string>& known) {
    std::set<std::string> seen;
    for (const auto& entry : map) {
      if (!entry.first.IsScalar()) return error(entry.first, "a key must be a plain word");
      const std::string key = entry.first.Scalar();
      if (std::find(known.begin(), known.end(), key) == known.end()) {
        std::string names;
        for (const std::string& name : known) names += (names.empty() ? "" : ", ") + name;
        return error(entry.first, "the key '" + key.substr(0, 80) + "' is not known here", "known are " + names);
      }
      if (!seen.insert(key).second) return error(entry.first, "the key '" + key + "' is there twice");
    }
    return {};
  }

  Result<std::string> required_text(const YAML::Node& map, const char* key) {
    const YAML::Node node = map[key];
    if (!node) return error(map, std::string("the key '") + key + "' is missing");
    if (!node.IsScalar()) return error(node, std::string("'") + key + "' must be a text");
    return node.Scalar();
  }

  Result<std::string> optional_text(const YAML::Node& map, const char* key, const char* otherwise) {
    if (!map[key]) return std::string(otherwise);
    return required_text(map, key);
  }

  Result<std::int64_t> integer(const YAML::Node& node, const std::string& what) {
    std::int64_t value = 0;
    // A hexadecimal or octal spelling would be a surprise here, so only decimal digits are read.
    const std::string text = node.IsScalar() ? node.Scalar() : "";
    const std::string digits = !text.empty() && text[0] == '-' ? text.substr(1) : text;
    const bool decimal = !digits.empty() && digits.size() <= 18 &&
                         std::all_of(digits.begin(), digits.end(), [](unsigned char c) { return std::isdigit(c); });
    if (!decimal) return error(node, what + " must be a whole number");
    value = std::stoll(text);
    return value;
  }

  Result<double> number(const YAML::Node& node, const std::string& what) {
    double value = 0;
    if (!node.IsScalar() || !YAML::convert<double>::decode(node, value) || !std::isfinite(value)) {
      return error(node, what + " must be a number");
    }
    return value;
  }

  Result<Expression> expression(const YAML::Node& node, const std::string& what) {
    if (!node.IsScalar()) return error(node, what + " must be a size name, a whole number or an expression of them");
    auto parsed = Expression::parse(node.Scalar());
    if (!parsed.ok()) return error(node, parsed.error().message, parsed.error().advice);
    return parsed;
  }

  Result<Values> values(const YAML::Node& node, Dtype dtype) {
    if (!node) {
      if (is_floating_point(dtype)) return Values(NormalValues{});
      return Values(IntegerValues{Expression(0), Expression(dtype == Dtype::boolean ? 1 : 9)});
    }
    const std::string known = "known are normal, uniform, positive, {uniform: [lo, hi]} and {integers: [lo, hi]}";
    if (node.IsScalar()) {
      const std::string kind = node.Scalar();
      if (!is_floating_point(dtype)) {
        return error(node, "'" + kind + "' makes fractions, but the dtype holds whole numbers",
                     "use {integers: [lo, hi]}");
      }
      if (kind == "normal") return Values(NormalValues{});
      if (kind == "uniform") return Values(UniformValues{0, 1});
      if (kind == "positive") return Values(UniformValues{0.1, 2});
      return error(node, "the values '" + kind.substr(0, 80) + "' are not known", known);
    }
    if (!node.IsMap() || node.size() != 1) return error(node, "the values are of no known form", known);
    KW_TRY_VOID(check_keys(node, {"uniform", "integers"}));
    const YAML::Node uniform = node["uniform"];
    const YAML::Node range = uniform ? uniform : node["integers"];
    if (!range.IsSequence() || range.size() != 2) return error(range, "a range is written [lo, hi]");
    if (!uniform) {
      KW_TRY(Expression low, expression(range[0], "a bound"));
      KW_TRY(Expression high, expression(range[1], "a bound"));
      return Values(IntegerValues{std::move(low), std::move(high)});
    }
    if (!is_floating_point(dtype)) return error(node, "whole numbers need {integers: [lo, hi]}");
    KW_TRY(const double low, number(range[0], "a bound"));
    KW_TRY(const double high, number(range[1], "a bound"));
    if (low > high) return error(range, "the lower bound is above the upper one");
    return Values(UniformValues{low, high});
  }

  Result<TensorSpec> tensor(const YAML::Node& key, const YAML::Node& node, bool is_input) {
    TensorSpec spec;
    if (!key.IsScalar()) return error(key, "a tensor's name must be a plain word");
    spec.name = key.Scalar();
    if (!is_name(spec.name)) {
      return error(key, "the name '" + spec.name.substr(0, 80) + "' is not made of letters, digits and _");
    }
    if (reserved_names.contains(spec.name)) {
      return error(key, "'" + spec.name + "' is a word of CUDA C++ or of the contract", "choose another name");
    }
    if (!names_.insert(spec.name).second) return error(key, "the name '" + spec.name + "' is there twice");
    if (!node.IsMap()) return error(node, "'" + spec.name + "' must be written {dtype: float32, shape: [rows, cols]}");
    if (is_input) {
      KW_TRY_VOID(check_keys(node, {"dtype", "shape", "values"}));
    } else {
      KW_TRY_VOID(check_keys(node, {"dtype", "shape"}));
    }
    KW_TRY(const std::string dtype, required_text(node, "dtype"));
    const auto known = dtype_from_name(dtype);
    if (!known) {
      return error(node["dtype"], "the dtype '" + dtype.substr(0, 80) + "' is not known",
                   "known are float32, float16, bfloat16, float64, int32, int64, int8, uint8, bool");
    }
    spec.dtype = *known;
    const YAML::Node shape = node["shape"];
    if (!shape) return error(node, "the shape of '" + spec.name + "' is missing");
    if (!shape.IsSequence()) return error(shape, "a shape is a list such as [rows, cols]");
    if (shape.size() > max_rank) return error(shape, "a shape has at most 8 entries");
    for (const auto& entry : shape) {
      KW_TRY(Expression extent, expression(entry, "an entry of a shape"));
      spec.shape.push_back(std::move(extent));
    }
    if (is_input) {
      KW_TRY(spec.values, values(node["values"], spec.dtype));
    } else if (spec.is_scalar()) {
      return error(shape, "an output cannot be a scalar passed by value", "use the shape [1]");
    }
    return spec;
  }

  Result<std::vector<TensorSpec>> tensors(const YAML::Node& root, const char* key, bool is_input) {
    const YAML::Node map = root[key];
    if (!map) return error(root, std::string("the key '") + key + "' is missing");
    if (!map.IsMap() || map.size() == 0) {
      return error(map, std::string("'") + key + "' must be a map such as {x: {dtype: float32, shape: [n]}}");
    }
    if (map.size() > max_tensors) return error(map, "there are more than " + std::to_string(max_tensors) + " " + key);
    std::vector<TensorSpec> specs;
    for (const auto& entry : map) {
      KW_TRY(TensorSpec spec, tensor(entry.first, entry.second, is_input));
      specs.push_back(std::move(spec));
    }
    return specs;
  }

  Result<void> collect_size_names(const YAML::Node& root, Task& task) {
    for (const auto* specs : {&task.inputs, &task.outputs}) {
      const YAML::Node section = root[specs == &task.inputs ? "inputs" : "outputs"];
      for (const TensorSpec& spec : *specs) {
        for (const Expression& entry : spec.shape) {
          for (const std::string& name : entry.names()) {
            if (names_.contains(name) || reserved_names.contains(name)) {
              return error(section[spec.name], "the size '" + name + "' has the name of a tensor or a reserved word");
            }
            auto& known = task.size_names;
            if (std::find(known.begin(), known.end(), name) == known.end()) known.push_back(name);
          }
        }
      }
    }
    for (const TensorSpec& spec : task.inputs) {
      const auto* integers = std::get_if<IntegerValues>(&spec.values);
      if (!integers) continue;
      for (const Expression* bound : {&integers->low, &integers->high}) {
        for (const std::string& name : bound->names()) {
          if (std::find(task.size_names.begin(), task.size_names.end(), name) == task.size_names.end()) {
            return error(root["inputs"][spec.name],
                         "the bound '" + bound->text() + "' uses '" + name + "', which is in no shape");
          }
        }
      }
    }
    return {};
  }

  Result<void> read_sizes(const YAML::Node& root, Task& task) {
    const YAML::Node map = root["sizes"];
    // Shapes of numbers alone: there is one size, and nothing to say about it.
    if (!map && task.size_names.empty()) {
      const auto checked = task.check_sizes({});
      if (!checked.ok()) return error(root["inputs"], checked.error().message, checked.error().advice);
      KW_TRY_VOID(check_bounds(root["inputs"], task, {}));
      task.sizes_small = task.sizes_train = {Sizes{}};
      return {};
    }
    if (!map) {
      std::string names;
      for (const std::string& name : task.size_names) names += (names.empty() ? "" : ", ") + name;
      return error(root, "the key 'sizes' is missing: the shapes name " + names,
                   "say which values they take: sizes: {small: [...], train: [...]}; or write numbers into the shapes");
    }
    if (!map.IsMap()) return error(map, "'sizes' must have the keys small and train, and may have holdout");
    KW_TRY_VOID(check_keys(map, {"small", "train", "holdout"}));
    KW_TRY(task.sizes_small, size_list(map, "small", task));
    KW_TRY(task.sizes_train, size_list(map, "train", task));
    if (map["holdout"]) {
      KW_TRY(task.sizes_holdout, size_list(map, "holdout", task));
    }
    for (const Sizes& holdout : task.sizes_holdout) {
      for (const auto* seen : {&task.sizes_small, &task.sizes_train}) {
        if (std::find(seen->begin(), seen->end(), holdout) != seen->end()) {
          return error(map["holdout"], "the held-out size " + to_string(holdout) + " is also one that is shown");
        }
      }
    }
    return {};
  }

  Result<std::vector<Sizes>> size_list(const YAML::Node& map, const char* key, const Task& task) {
    const YAML::Node list = map[key];
    if (!list) return error(map, std::string("the sizes '") + key + "' are missing");
    if (!list.IsSequence() || list.size() == 0) {
      return error(list, std::string("'") + key + "' must be a list such as [{rows: 7, cols: 129}]");
    }
    if (list.size() > max_size_entries) return error(list, "a list of sizes has at most 64 entries");
    std::vector<Sizes> all;
    for (const auto& entry : list) {
      if (!entry.IsMap()) return error(entry, "sizes are written {rows: 7, cols: 129}");
      Sizes sizes;
      for (const auto& pair : entry) {
        if (!pair.first.IsScalar()) return error(pair.first, "a size's name must be a plain word");
        const std::string name = pair.first.Scalar();
        KW_TRY(const std::int64_t value, integer(pair.second, "the size '" + name.substr(0, 80) + "'"));
        if (!sizes.emplace(name, value).second) return error(pair.first, "the size '" + name + "' is there twice");
      }
      const auto checked = task.check_sizes(sizes);
      if (!checked.ok()) return error(entry, checked.error().message, checked.error().advice);
      KW_TRY_VOID(check_bounds(entry, task, sizes));
      all.push_back(std::move(sizes));
    }
    return all;
  }

  Result<void> check_bounds(const YAML::Node& entry, const Task& task, const Sizes& sizes) {
    for (const TensorSpec& spec : task.inputs) {
      const auto* integers = std::get_if<IntegerValues>(&spec.values);
      if (!integers) continue;
      const auto low = integers->low.evaluate(sizes);
      const auto high = integers->high.evaluate(sizes);
      for (const auto* bound : {&low, &high}) {
        if (!bound->ok()) return error(entry, bound->error().message);
      }
      if (spec.dtype == Dtype::boolean && (*low < 0 || *high > 1))
        return error(entry, "'" + spec.name + "' is a bool, but its values go from " + std::to_string(*low) + " to " +
                                std::to_string(*high));
      if (*low > *high) return error(entry, "'" + spec.name + "' would have its lower bound above the upper one here");
    }
    return {};
  }

  Result<Tolerance> tolerance(const YAML::Node& node) {
    if (!node.IsMap()) return error(node, "a tolerance is written {relative: 1.0e-3, absolute: 1.0e-5}");
    KW_TRY_VOID(check_keys(node, {"relative", "absolute"}));
    Tolerance found;
    for (const auto& [key, target] : {std::pair("relative", &found.relative), std::pair("absolute", &found.absolute)}) {
      if (!node[key]) continue;
      KW_TRY(*target, number(node[key], std::string("the ") + key + " tolerance"));
      if (*target < 0) return error(node[key], "a tolerance cannot be negative");
    }
    return found;
  }

  std::string file_;
  std::set<std::string> names_;  // of tensors
};

}  // namespace

Result<Task> parse_task(std::string_view yaml, const std::string& file) {
  if (yaml.find('\0') != std::string_view::npos) return Error{"the task holds a NUL byte", "", {file, 0, 0}};
  if (yaml_nested_too_deeply(yaml)) return Error{"the task is nested too deeply", "", {file, 0, 0}};
  // yaml-cpp reports syntax errors by throwing.
  try {
    const YAML::Node root = YAML::Load(std::string(yaml));
    return TaskReader(file).read(root);
  } catch (const YAML::Exception& problem) {
    const bool known = !problem.mark.is_null();
    return Error{"the YAML is not valid: " + problem.msg,
                 "",
                 {file, known ? problem.mark.line + 1 : 0, known ? problem.mark.column + 1 : 0}};
  }
}

}  // namespace kw
