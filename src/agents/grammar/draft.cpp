#include "agents/grammar/draft.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace kw {
namespace {

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

std::string base_name(Family family) {
  switch (family) {
    case Family::reduce_last:
    case Family::reduce_first:
    case Family::reduce_middle:
    case Family::reduce_all:
      return "reduce";
    case Family::gather_rows:
      return "gather";
    default:
      return std::string(name_of(family));
  }
}

// No operator outside brackets.
bool single_term(std::string_view text) {
  int depth = 0;
  for (char c : text) {
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (c == ' ' && depth == 0) return false;
  }
  return true;
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(", ", at), text.size());
    parts.emplace_back(text.substr(at, end - at));
    at = end + 2;
  }
  return parts;
}

bool has_word(std::string_view text, std::string_view word) {
  const auto inside = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !inside(text[at - 1])) && (end == text.size() || !inside(text[end]))) return true;
  }
  return false;
}

// Sizes that a kernel does not need are neither its parameters nor passed to it.
void drop_unused_sizes(std::string& body, std::string& launcher) {
  constexpr std::string_view head = "__global__ void ";
  for (std::size_t at = body.find(head); at != std::string::npos; at = body.find(head, at + 1)) {
    const std::size_t open = body.find('(', at), close = body.find(") {\n", at), end = body.find("\n}\n", at);
    const std::string name = body.substr(at + head.size(), open - at - head.size());
    const std::size_t launch = launcher.find(name + "<<<");
    if (close == std::string::npos || end == std::string::npos || launch == std::string::npos) continue;
    const std::size_t first = launcher.find(">>>(", launch) + 4, last = launcher.find(");", first);
    std::vector<std::string> declared = split_list(std::string_view(body).substr(open + 1, close - open - 1));
    std::vector<std::string> passed = split_list(std::string_view(launcher).substr(first, last - first));
    if (declared.size() != passed.size()) continue;
    const std::string_view code = std::string_view(body).substr(close, end - close);
    for (std::size_t i = declared.size(); i-- > 0;) {
      if (declared[i].rfind("int ", 0) != 0 || has_word(code, std::string_view(declared[i]).substr(4))) continue;
      declared.erase(declared.begin() + static_cast<std::ptrdiff_t>(i));
      passed.erase(passed.begin() + static_cast<std::ptrdiff_t>(i));
    }
    launcher.replace(first, last - first, joined(passed));
    body.replace(open + 1, close - open - 1, joined(declared));
  }
}

}  // namespace

Draft::Draft(const Problem& what, Level how, Random& drawn)
    : problem(what), level(how), random(drawn), style(draw_style(drawn)), names(drawn) {
  for (const char* taken :
       {"launch", "stream", "threads", "blocks", "grid", "block", "main", "tanh", "exp", "sin",  "cos", "sqrt",
        "log",    "max",    "min",     "abs",    "y0",   "y1",    "j0",   "j1",   "t",   "slot", "half"})
    names.reserve(taken);
  for (const Operand& operand : problem.operands) names.reserve(operand.name);
  names.reserve(problem.output);
  for (const std::string& dim : problem.dims) names.reserve(dim);
  const std::string base = base_name(problem.family);
  const std::string suffixed = base + "_kernel";
  const std::string by_level = base + "_" + std::string(name_of(level));
  const std::string fused = "fused_" + base;
  kernel = names.pick({suffixed, base + "_k", by_level, fused, "k_" + base, "compute", "kernel"});
  const bool several = std::count_if(problem.operands.begin(), problem.operands.end(),
                                     [](const Operand& o) { return !o.is_scalar(); }) > 1;
  for (const Operand& operand : problem.operands) {
    if (!style.rename_in_kernel || operand.is_scalar() || several) {
      in.push_back(operand.name);
    } else {
      in.push_back(names.pick({"in", "src", "input", "data"}));
    }
  }
  out = style.rename_in_kernel ? names.pick({"out", "dst", "output", "result"}) : problem.output;
}

std::string Draft::from_memory(Dtype dtype, const std::string& text) {
  if (dtype == Dtype::float16) return "__half2float(" + text + ")";
  if (dtype == Dtype::bfloat16) return "__bfloat162float(" + text + ")";
  return text;
}

std::string Draft::to_memory(Dtype dtype, const std::string& text) {
  if (dtype == Dtype::float16) return "__float2half(" + text + ")";
  if (dtype == Dtype::bfloat16) return "__float2bfloat16(" + text + ")";
  return text;
}

std::string Draft::load(int operand, const std::string& index) const {
  const Operand& what = problem.operands[static_cast<std::size_t>(operand)];
  const std::string& name = in[static_cast<std::size_t>(operand)];
  if (what.is_scalar()) return name;
  return from_memory(what.dtype, name + "[" + index + "]");
}

std::string Draft::to_output(const std::string& value) const { return to_memory(problem.output_dtype, value); }

std::vector<int> Draft::operands_of(const ScalarExpression& expression) const {
  std::vector<int> found;
  for (int i = 0; i <= problem.result_index(); ++i)
    if (expression.uses_of(i) > 0) found.push_back(i);
  return found;
}

std::string Draft::value_name(const Operand& operand) {
  const auto tensors = std::count_if(problem.operands.begin(), problem.operands.end(),
                                     [](const Operand& each) { return !each.is_scalar(); });
  const std::string own = operand.name + "_val", short_own = operand.name + "v";
  if (style.name_by_operand && tensors > 1) {
    const std::string& wanted = style.index_form == 1 ? short_own : own;
    if (!names.used(wanted)) return names.pick({wanted});
  }
  return same_name("operand " + operand.name, {"v", "xv", "value", "a", "val", "b", "u", "w", "p", "q"});
}

std::string Draft::named_if_long(const std::string& value, const std::string& name, std::string& lines) {
  if (value.size() <= 36) return value;
  const std::string own = names.pick({name});
  lines += fmt::format("{} {} = {};\n", local(accumulator()), own, value);
  return own;
}

std::string Draft::same_name(const std::string& what, std::initializer_list<std::string_view> candidates) {
  std::string& known = same_names_[what];
  if (known.empty() || names.used(known)) {
    known = names.pick(candidates);
    return known;
  }
  return names.pick({known});
}

Draft::Element Draft::element(const ScalarExpression& expression, const IndexOf& index_of, const std::string& result) {
  std::vector<std::string> values(problem.operands.size() + 1);
  values.back() = result;
  Element made;
  for (int i : operands_of(expression)) {
    if (i == problem.result_index()) continue;
    const Operand& operand = problem.operands[static_cast<std::size_t>(i)];
    std::string text = load(i, operand.is_scalar() ? "" : index_of(operand));
    if (!operand.is_scalar() && !expression.trivial() && !style.function_form &&
        (style.load_first || expression.uses_of(i) > 1)) {
      const std::string name = value_name(operand);
      made.lines += fmt::format("{} {} = {};\n", local(accumulator()), name, text);
      text = name;
    }
    values[static_cast<std::size_t>(i)] = text;
  }
  Element rest = element_of_values(expression, values);
  return {made.lines + rest.lines, rest.value};
}

Draft::Element Draft::element_of_values(const ScalarExpression& expression, const std::vector<std::string>& given) {
  // One sign needs no function, but brackets around what is no single term.
  const bool one_sign = !style.formulas && expression.nodes.size() == 3 &&
                        (expression.nodes.back().op == Op::add || expression.nodes.back().op == Op::subtract ||
                         expression.nodes.back().op == Op::multiply);
  std::vector<std::string> values = given;
  if (one_sign && style.function_form) {
    for (std::string& value : values)
      if (!single_term(value)) value = "(" + value + ")";
  }
  if (style.function_form && !expression.trivial() && !one_sign) {
    std::vector<std::string> arguments;
    for (int i : operands_of(expression)) arguments.push_back(values[static_cast<std::size_t>(i)]);
    return {"", element_function(expression) + "(" + joined(arguments) + ")"};
  }
  Element made;
  made.value = cuda_text(
      expression, values,
      [&](const std::string& argument) {
        const std::string name = names.pick({"t", "s", "z", "h", "arg", "tmp", "r", "g"});
        made.lines += fmt::format("{} {} = {};\n", local(accumulator()), name, argument);
        return name;
      },
      [&](std::string_view name, const std::string& body) {
        if (!style.helper_functions) return false;
        const std::string text =
            fmt::format("{0} {1} {2}({1} v) {{ return {3}; }}\n", device_function(), accumulator(), name, body);
        if (!has_helper(fmt::format(" {}({} v)", name, accumulator()))) add_helper(text);
        return true;
      },
      problem.integer(), style.formulas);
  return made;
}

std::string Draft::element_function(const ScalarExpression& expression) {
  for (const auto& [known, name] : functions_)
    if (known == &expression) return name;
  const std::string name = names.pick_for_file({"apply", "transform", "element_op", "f", "fused_op", "op", "epilogue"});
  std::vector<std::string> values(problem.operands.size() + 1), params;
  for (int i : operands_of(expression)) {
    const bool result = i == problem.result_index();
    const std::string& own = result ? "v" : problem.operands[static_cast<std::size_t>(i)].name;
    values[static_cast<std::size_t>(i)] = own;
    params.push_back(accumulator() + " " + own);
  }
  const bool before = style.function_form;
  style.function_form = false;
  const Element code = element_of_values(expression, values);
  style.function_form = before;
  if (code.lines.empty()) {
    add_helper(fmt::format("{} {} {}({}) {{ return {}; }}\n", device_function(), accumulator(), name, joined(params),
                           code.value));
  } else {
    add_helper(
        fill("$head {\n  $lines\n  return $value;\n}\n",
             Fields{{"head", fmt::format("{} {} {}({})", device_function(), accumulator(), name, joined(params))},
                    {"lines", code.lines},
                    {"value", code.value}}));
  }
  functions_.emplace_back(&expression, name);
  return name;
}

std::string Draft::device_function() const { return style.force_inline ? "__device__ __forceinline__" : "__device__"; }

void Draft::add_helper(const std::string& text) { helpers_ += text + "\n"; }
bool Draft::has_helper(const std::string& key) const { return helpers_.find(key) != std::string::npos; }

std::string Draft::input_parameters() const {
  const std::string pointer = style.restrict_pointers ? "* __restrict__ " : "* ";
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < problem.operands.size(); ++i) {
    const Operand& operand = problem.operands[i];
    const std::string type(cuda_type_of(operand.dtype));
    parts.push_back(operand.is_scalar() ? type + " " + in[i] : "const " + type + pointer + in[i]);
  }
  return joined(parts);
}

std::string Draft::input_arguments() const {
  std::vector<std::string> parts;
  for (const Operand& operand : problem.operands) parts.push_back(operand.name);
  return joined(parts);
}

std::string Draft::parameters(const std::vector<std::string>& sizes) const {
  const std::string pointer = style.restrict_pointers ? "* __restrict__ " : "* ";
  std::vector<std::string> parts{input_parameters()};
  parts.push_back(std::string(cuda_type_of(problem.output_dtype)) + pointer + out);
  for (const std::string& size : sizes) parts.push_back("int " + size);
  return joined(parts);
}

std::string Draft::arguments(const std::vector<std::string>& sizes) const {
  std::vector<std::string> parts;
  for (const Operand& operand : problem.operands) parts.push_back(operand.name);
  parts.push_back(problem.output);
  parts.insert(parts.end(), sizes.begin(), sizes.end());
  return joined(parts);
}

std::string Draft::launch_parameters() const {
  std::vector<std::string> parts;
  for (const Operand& operand : problem.operands) {
    const std::string type(cuda_type_of(operand.dtype));
    parts.push_back(operand.is_scalar() ? type + " " + operand.name : "const " + type + "* " + operand.name);
  }
  parts.push_back(std::string(cuda_type_of(problem.output_dtype)) + "* " + problem.output);
  for (const std::string& dim : size_order(problem)) parts.push_back("int " + dim);
  parts.push_back("cudaStream_t stream");
  return joined(parts);
}

std::string Draft::ceil_div(const std::string& a, const std::string& b) {
  const bool simple = a.find_first_of(" +*/") == std::string::npos;
  if (style.ceil_div_form == 1) {
    if (!has_helper("ceil_div(int")) add_helper("static int ceil_div(int a, int b) { return (a + b - 1) / b; }\n");
    return "ceil_div(" + a + ", " + b + ")";
  }
  if (style.ceil_div_form == 2) {
    if (!has_helper("CEIL_DIV")) add_helper("#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))\n");
    return "CEIL_DIV(" + a + ", " + b + ")";
  }
  const bool number = !b.empty() && b.find_first_not_of("0123456789") == std::string::npos;
  const std::string sum = simple || a.find('/') == std::string::npos ? a : "(" + a + ")";
  if (number) return fmt::format("({} + {}) / {}", sum, std::stoi(b) - 1, b);
  return fmt::format("({} + {} - 1) / {}", sum, b, b);
}

std::string Draft::thread_index(const std::string& axis) const {
  const char* forms[] = {"blockIdx.{0} * blockDim.{0} + threadIdx.{0}", "threadIdx.{0} + blockIdx.{0} * blockDim.{0}",
                         "blockDim.{0} * blockIdx.{0} + threadIdx.{0}"};
  return fmt::format(fmt::runtime(forms[style.index_form]), axis);
}

std::string Draft::block_size(std::initializer_list<int> choices, int* number) {
  const int size = choices.begin()[random.integer(0, static_cast<std::int64_t>(choices.size()) - 1)];
  if (number != nullptr) *number = size;
  if (!style.block_constant) return std::to_string(size);
  const std::string name = names.pick_for_file({"BLOCK_SIZE", "kThreads", "THREADS", "kBlockSize", "block_threads"});
  const bool macro = (name == "THREADS" || name == "BLOCK_SIZE") && random.uniform() < 0.8;
  add_helper(macro ? fmt::format("#define {} {}\n", name, size) : fmt::format("constexpr int {} = {};\n", name, size));
  return name;
}

std::string Draft::launch_over(const std::string& count, const std::string& block,
                               const std::vector<std::string>& sizes, const std::string& setup) {
  if (!style.launch_locals || style.dim3_launch) return launch_grid(ceil_div(count, block), block, sizes, setup);
  if (style.block_constant) {
    const std::string line = fmt::format("{} blocks = {};\n", local("int"), ceil_div(count, block));
    return launch_grid("blocks", block, sizes, setup + line);
  }
  const std::string lines =
      fmt::format("{0} threads = {1};\n{0} blocks = {2};\n", local("int"), block, ceil_div(count, "threads"));
  return launch_grid("blocks", "threads", sizes, setup + lines);
}

std::string Draft::launch_grid(const std::string& grid, const std::string& block, const std::vector<std::string>& sizes,
                               const std::string& setup) {
  std::string grid_text = grid, block_text = block, lines = setup;
  const std::string passed = arguments(sizes);
  const bool several_axes = grid.rfind("dim3(", 0) == 0;
  const std::size_t width = 26 + kernel.size() + grid.size() + block.size() + passed.size();
  if (style.dim3_launch || (several_axes && (style.launch_locals || width > 100))) {
    const auto inner = [](const std::string& text) {
      return text.rfind("dim3(", 0) == 0 ? text.substr(5, text.size() - 6) : text;
    };
    lines += fmt::format("{0} block({2});\n{0} grid({1});\n", style.const_locals ? "const dim3" : "dim3", inner(grid),
                         inner(block));
    grid_text = "grid";
    block_text = "block";
  }
  return fill("extern \"C\" void launch($params) {\n  $lines\n  $kernel$<<<$grid, $block, 0, stream>>>($args);\n}\n",
              Fields{{"params", launch_parameters()},
                     {"lines", lines},
                     {"kernel", kernel},
                     {"grid", grid_text},
                     {"block", block_text},
                     {"args", passed}});
}

std::string Draft::finish(std::string body, std::string launcher) {
  drop_unused_sizes(body, launcher);
  std::string includes;
  const auto needs = [&](Dtype dtype) {
    return problem.output_dtype == dtype || std::any_of(problem.operands.begin(), problem.operands.end(),
                                                        [&](const Operand& operand) { return operand.dtype == dtype; });
  };
  if (needs(Dtype::float16)) includes += "#include <cuda_fp16.h>\n";
  if (needs(Dtype::bfloat16)) includes += "#include <cuda_bf16.h>\n";
  for (const char* limit : {"FLT_MAX", "INFINITY"}) {
    if (body.find(limit) == std::string::npos && helpers_.find(limit) == std::string::npos) continue;
    includes += limit[0] == 'F' ? "#include <cfloat>\n" : "#include <cmath>\n";
  }
  if (body.find("INT_M") != std::string::npos || helpers_.find("INT_M") != std::string::npos)
    includes += "#include <climits>\n";
  if (body.find("wmma::") != std::string::npos) includes += "#include <mma.h>\n";
  if (!includes.empty()) includes += "\n";
  return lay_out(includes + helpers_ + "\n" + body + "\n" + launcher, style);
}

std::string fill(const Draft& draft, std::string_view text, Fields fields) {
  fields.emplace_back("int", draft.local("int"));
  fields.emplace_back("val", draft.local(draft.accumulator()));
  fields.emplace_back("kernel", draft.kernel);
  fields.emplace_back("out", draft.out);
  fields.emplace_back("acc", draft.accumulator());
  fields.emplace_back("zero", draft.zero());
  fields.emplace_back("device", draft.device_function());
  return fill(text, fields);
}

}  // namespace kw
