#include "kernel/export/python_file.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/hash.h"
#include "kernel/compile/headers.h"
#include "kernel/compile/implicit_names.h"
#include "kernel/compile/service.h"
#include "kernel/source/lexer.h"

namespace kw {
namespace {

struct PythonPart {
  std::string_view name;
  std::string_view text;
};
constexpr PythonPart python_parts[] = {
#include "python_parts.inc"
};

std::string in_quotes(std::string_view text) {
  return nlohmann::json(std::string(text)).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

constexpr std::string_view python_words[] = {
    "False", "None",   "True", "and",    "as",   "assert", "async", "await",  "break",    "class",  "continue", "def",
    "del",   "elif",   "else", "except", "for",  "from",   "if",    "global", "finally",  "import", "in",       "is",
    "not",   "lambda", "or",   "pass",   "with", "raise",  "try",   "return", "nonlocal", "while",  "yield"};
// Modules and built-in functions that exported files use, words of C, and names that the C library has.
constexpr std::string_view other_words[] = {
    "base64",    "ctypes", "glob",     "math",   "os",    "shutil", "struct", "subprocess", "sys",    "tempfile",
    "threading", "torch",  "cupy",     "numpy",  "abs",   "bool",   "bytes",  "dict",       "float",  "int",
    "iter",      "len",    "list",     "map",    "max",   "min",    "next",   "range",      "set",    "str",
    "sum",       "tuple",  "zip",      "launch", "main",  "auto",   "char",   "double",     "long",   "short",
    "signed",    "void",   "unsigned", "switch", "case",  "const",  "do",     "static",     "inline", "sqrt",
    "exp",       "log",    "pow",      "sin",    "cos",   "tan",    "tanh",   "erf",        "round",  "floor",
    "ceil",      "read",   "write",    "remove", "index", "div"};

// Whether a function of this name would hide something that the file itself uses.
bool is_taken(const std::string& name) {
  const auto in = [&](const auto& words) {
    return std::find(std::begin(words), std::end(words), name) != std::end(words);
  };
  if (in(python_words) || in(other_words)) return true;
  for (const PythonPart& part : python_parts) {
    for (const std::string& start :
         {"\ndef " + name + "(", "\nclass " + name + "(", "\nclass " + name + ":", "\n" + name + " ="}) {
      if (part.text.find(start) != std::string_view::npos) return true;
    }
  }
  return false;
}

std::string base64(std::string_view bytes) {
  static constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t word = 0;
    const std::size_t left = std::min<std::size_t>(3, bytes.size() - i);
    for (std::size_t k = 0; k < 3; ++k) {
      word = word << 8 | (k < left ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    }
    for (std::size_t k = 0; k < 4; ++k) text += k <= left ? digits[word >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

bool is_plain_name(const std::string& text) {
  return !text.empty() && (std::isalpha(static_cast<unsigned char>(text[0])) != 0 || text[0] == '_') &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

bool is_number(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

// `(width - 3) / 2 + 1` over a dictionary of sizes.
std::string python_expression(const std::string& text) {
  std::string result = "lambda s: ";
  for (std::size_t i = 0; i < text.size();) {
    const unsigned char c = static_cast<unsigned char>(text[i]);
    if (std::isalpha(c) != 0 || c == '_') {
      std::size_t end = i;
      while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_')) ++end;
      result += "s[\"" + text.substr(i, end - i) + "\"]";
      i = end;
    } else {
      result += c == '/' ? std::string("//") : std::string(1, text[i]);
      ++i;
    }
  }
  return result;
}

std::string tensors(const std::vector<TensorSpec>& specs, std::map<std::string, std::string>& expressions) {
  std::string text;
  for (const TensorSpec& spec : specs) {
    text += "    (\"" + spec.name + "\", \"" + std::string(name_of(spec.dtype)) + "\", ";
    if (spec.is_scalar()) {
      text += "None),\n";
      continue;
    }
    text += "(";
    for (const Expression& part : spec.shape) {
      text += in_quotes(part.text()) + ", ";
      if (!is_plain_name(part.text()) && !is_number(part.text())) {
        expressions[part.text()] = python_expression(part.text());
      }
    }
    text += ")),\n";
  }
  return text;
}

std::string name_list(const std::vector<std::string>& names) {
  std::string text = "(";
  for (const std::string& name : names) text += in_quotes(name) + ", ";
  return text + ")";
}

// The device code as plain NVRTC needs it: what nvcc would have declared by itself is included in front.
std::string nvrtc_source(const ExportRequest& request) {
  const std::string& device = request.file.device_source;
  std::string text;
  for (const std::string_view header : implicit_headers(lex(device, request.file.file))) {
    text += "#include <" + std::string(header) + ">\n";
  }
  return text + "#line 1 \"kernel.cu\"\n" + device;
}

std::string compiled_code(const ExportRequest& request, const LauncherTranslation& launcher) {
  std::string text = "CUBINS = {\n";
  for (const ExportedCubin& cubin : request.cubins) {
    text +=
        "    " + in_quotes(cubin.architecture) + ": (\n        " + in_quotes(base64(cubin.image)) + ",\n        {\n";
    for (const auto& [name, symbol] : cubin.symbols) {
      text += "            " + in_quotes(name) + ": " + in_quotes(symbol) + ",\n";
    }
    text += "        },\n    ),\n";
  }
  text += "}\n";
  const bool source = request.cubins.empty() && !request.compile_with_nvcc;
  const std::string device = source ? nvrtc_source(request) : "";
  text += "HEADERS = {\n";
  if (source) {
    const HeaderSet own = HeaderSet::load("");  // the toolkit's headers are where the file will be used
    for (const Header* header : own.needed_by(device)) {
      text += "    " + in_quotes(header->name) + ": " + python_literal(header->text) + ",\n";
    }
  }
  text += "}\nOPTIONS = [\n";
  if (source) {
    CompileRequest compile;
    for (const std::string& option : nvrtc_options(compile, device)) {
      const bool ours = option.starts_with("--gpu-architecture") || option.starts_with("--ptxas-options");
      if (!ours && option != "--minimal") text += "    " + in_quotes(option) + ",\n";
    }
  }
  text += "]\nSOURCE = " + python_literal(device) + "\n";
  if (request.compile_with_nvcc) text += "KERNEL_FILE = " + python_literal(request.text) + "\n";
  static_cast<void>(launcher);
  return text;
}

}  // namespace

std::string_view python_part(std::string_view name) {
  for (const PythonPart& part : python_parts) {
    if (part.name == name) return part.text;
  }
  KW_CHECK(false);
  return "";
}

std::string python_literal(std::string_view text) {
  const bool plain =
      text.find("'''") == std::string_view::npos && !text.ends_with('\\') && !text.ends_with('\'') &&
      std::all_of(text.begin(), text.end(), [](unsigned char c) { return c >= 0x20 || c == '\n' || c == '\t'; });
  return plain ? "r'''" + std::string(text) + "'''" : in_quotes(text);
}

std::string parameter_name(const std::string& name) {
  return std::find(std::begin(python_words), std::end(python_words), name) != std::end(python_words) ? name + "_"
                                                                                                     : name;
}

std::string function_name(const Task& task) {
  std::string name;
  for (const char c : task.name) name += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' ? c : '_';
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) != 0) name = "kernel_" + name;
  if (is_taken(name)) name += "_kernel";
  return name;
}

std::string operator_name(const ExportRequest& request) {
  Sha256 hash;
  hash.add(request.text).add(request.task.launcher_declaration()).add(request.compile_with_nvcc ? "nvcc" : "nvrtc");
  return function_name(request.task) + "_" + std::move(hash).hex().substr(0, 8);
}

std::vector<std::string> given_sizes(const Task& task) {
  std::vector<std::string> missing;
  for (const std::string& name : task.size_names) {
    bool shown = false;
    for (const TensorSpec& input : task.inputs) {
      for (const Expression& part : input.shape) shown = shown || part.text() == name;
    }
    if (!shown) missing.push_back(name);
  }
  return missing;
}

std::string python_parameters(const Task& task) {
  std::string text;
  for (const TensorSpec& input : task.inputs) text += (text.empty() ? "" : ", ") + parameter_name(input.name);
  for (const std::string& size : given_sizes(task)) text += (text.empty() ? "" : ", ") + parameter_name(size);
  return text;
}

std::string python_heading(const ExportRequest& request, std::string_view framework, std::string_view usage) {
  const std::string name = function_name(request.task);
  std::string summary = request.task.summary;
  std::replace(summary.begin(), summary.end(), '"', '\'');
  std::replace(summary.begin(), summary.end(), '\\', '/');
  std::string text = "\"\"\"" + name + ": a CUDA kernel for " + std::string(framework) + ".\n\n";
  if (!summary.empty()) text += summary + "\n\n";
  text += std::string(usage) + "\n\nMade by kernelwright " + request.version + " from a kernel file and the task `" +
          name + "`.\nThis file stands alone: it needs nothing of kernelwright.\n\"\"\"\n\n";
  return text;
}

Result<std::string> python_core(const ExportRequest& request) {
  LauncherTranslation launcher;
  if (!request.compile_with_nvcc) {
    KW_TRY(launcher, translate_launcher(request.file, request.task));
  }
  std::map<std::string, std::string> expressions;
  std::string text = "NAME = " + in_quotes(function_name(request.task)) + "\n";
  text += "OPERATOR = " + in_quotes(operator_name(request)) + "\n";
  text +=
      "INPUTS = (  # name, type, shape; a scalar has no shape\n" + tensors(request.task.inputs, expressions) + ")\n";
  text += "OUTPUTS = (\n" + tensors(request.task.outputs, expressions) + ")\n";
  text += "SIZES = " + name_list(request.task.size_names) + "\n";
  text += "GIVEN_SIZES = " + name_list(given_sizes(request.task)) + "  # those that no input's shape shows\n";
  text += "EXPRESSIONS = {\n";
  for (const auto& [expression, function] : expressions)
    text += "    " + in_quotes(expression) + ": " + function + ",\n";
  text += "}\n";
  // Kernels are judged with memory as CUDA allocates it; vector loads need 16 bytes of that.
  text += "ALIGNMENT = " + std::string(launcher.reads_addresses ? "256" : "16") +
          "  # bytes, of every tensor's first element\n";
  text += compiled_code(request, launcher) + "\n\n";
  text += python_part("c_semantics.py");
  text += "\n\n";
  text += python_part("launch_plan.py");
  text += "\n\nKERNELS = {\n";
  for (const ExportedKernel& kernel : launcher.kernels) {
    text += "    " + in_quotes(kernel.name) + ": Kernel(" + in_quotes(kernel.name) + ", (";
    for (const std::string& layout : kernel.layout) text += layout + ", ";
    text += ")),\n";
  }
  text += "}\n\n\n# ---- The launcher, translated from the kernel file's host code ";
  text += std::string(57, '-') + "\n" + launcher.python;
  if (request.compile_with_nvcc) text += "launch = None  # in the compiled library\n";
  text += "\n\n";
  text += python_part("tensors.py");
  text += "\n\n";
  text += python_part("cuda_driver.py");
  if (request.compile_with_nvcc) {
    text += "\n\n";
    text += python_part("nvcc_library.py");
  }
  return text + "\n\n";
}

}  // namespace kw
