// A kernel for C and C++: a header with the launcher's declaration, and the kernel file with a wrapper that checks the
// sizes and returns an error code, for nvcc.

#include <algorithm>
#include <cctype>

#include "kernel/export/export_request.h"
#include "kernel/export/python_file.h"

namespace kw {
namespace {

// What stands in for __half where C reads the header.
std::string c_type(const Parameter& parameter) {
  if (parameter.role == Parameter::Role::stream) return "cudaStream_t";
  if (parameter.role == Parameter::Role::size) return "int";
  const std::string type(cuda_type_of(parameter.dtype));
  if (parameter.role == Parameter::Role::scalar) return type;
  const bool half = parameter.dtype == Dtype::float16 || parameter.dtype == Dtype::bfloat16;
  const std::string element = half ? "void" : type;
  return (parameter.role == Parameter::Role::input ? "const " : "") + element + "*";
}

std::string declaration(const ExportRequest& request, const std::string& name) {
  std::string text = "cudaError_t " + name + "(";
  for (const Parameter& parameter : request.task.parameters()) {
    if (text.back() != '(') text += ", ";
    const std::string given = parameter.role == Parameter::Role::stream ? "stream" : parameter.name;
    text += c_type(parameter) + " " + given;
  }
  return text + ")";
}

std::string shape_text(const TensorSpec& spec) {
  std::string text;
  for (const Expression& part : spec.shape) text += (text.empty() ? "" : ", ") + part.text();
  return "[" + text + "]";
}

std::string header_text(const ExportRequest& request, const std::string& name, const std::string& header_name) {
  std::string guard;
  for (const char c : header_name)
    guard += std::isalnum(static_cast<unsigned char>(c)) != 0 ? static_cast<char>(std::toupper(c)) : '_';
  std::string text = "/* " + name + ", made by kernelwright " + request.version + ".\n";
  if (!request.task.summary.empty())
    text += " * " + request.task.summary.substr(0, request.task.summary.find("*/")) + "\n";
  text += " *\n * All pointers are device memory, contiguous, in row-major order, aligned to 16 bytes:\n";
  for (const auto* list : {&request.task.inputs, &request.task.outputs}) {
    for (const TensorSpec& spec : *list) {
      text += " *   " + spec.name + ": " + std::string(name_of(spec.dtype)) + " " +
              (spec.is_scalar() ? "by value" : shape_text(spec)) +
              (list == &request.task.outputs ? ", written\n" : "\n");
    }
  }
  text +=
      " *\n * Returns cudaErrorInvalidValue where a size is below 1, a tensor would have more than 2^31 - 1 elements, "
      "or a\n"
      " * pointer is null or not aligned; else what the launches returned. Work is put on `stream`; nothing waits.\n "
      "*/\n";
  text += "#ifndef KERNELWRIGHT_" + guard + "\n#define KERNELWRIGHT_" + guard + "\n\n#include <cuda_runtime_api.h>\n";
  bool half = false, bfloat = false, boolean = false;
  for (const Parameter& parameter : request.task.parameters()) {
    const bool value = parameter.role == Parameter::Role::scalar;
    half = half || (value && parameter.dtype == Dtype::float16);
    bfloat = bfloat || (value && parameter.dtype == Dtype::bfloat16);
    boolean = boolean || (parameter.role != Parameter::Role::size && parameter.role != Parameter::Role::stream &&
                          parameter.dtype == Dtype::boolean);
  }
  if (half) text += "#include <cuda_fp16.h>\n";
  if (bfloat) text += "#include <cuda_bf16.h>\n";
  if (boolean) text += "#include <stdbool.h>\n";
  text += "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n" + declaration(request, name) +
          ";\n\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
  return text;
}

// The elements of a tensor, in C: each factor fits 64 bits, and the product is checked factor by factor.
std::string element_checks(const TensorSpec& spec) {
  std::string text = "  {\n    long long elements = 1;\n";
  for (const Expression& part : spec.shape) {
    std::string expression;
    for (std::size_t i = 0; i < part.text().size();) {
      const char c = part.text()[i];
      if (std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_') {
        std::size_t end = i;
        while (end < part.text().size() &&
               (std::isalnum(static_cast<unsigned char>(part.text()[end])) != 0 || part.text()[end] == '_'))
          ++end;
        expression += "(long long)" + part.text().substr(i, end - i);
        i = end;
      } else {
        expression += c;
        ++i;
      }
    }
    text += "    {\n      const long long part = " + expression +
            ";\n      if (part < 1 || part > 2147483647LL / elements) return cudaErrorInvalidValue;\n      elements *= "
            "part;\n    }\n";
  }
  return text + "  }\n";
}

}  // namespace

Result<CFiles> export_c(const ExportRequest& request, const std::string& header_name) {
  const std::string name = function_name(request.task);
  const std::string launcher = "kernelwright_launch_" + operator_name(request);
  CFiles files;
  files.header = header_text(request, name, header_name);
  std::string& text = files.source;
  text = "// " + name + ", made by kernelwright " + request.version + ": the kernel file, and below it `" + name +
         "` of " + header_name + ".\n// Compile with nvcc -O3 -std=c++17 -arch=sm_90 -c.\n\n";
  // Several exported kernels can be linked together: each launcher has a name of its own.
  text += "#define launch " + launcher + "\n#line 1 \"" + name + "_kernel.cu\"\n" + request.text;
  if (!request.text.ends_with('\n')) text += '\n';
  text += "#undef launch\n\n#include \"" + header_name + "\"\n\n#include <stdint.h>\n\nextern \"C\" " +
          declaration(request, name) + " {\n";
  for (const std::string& size : request.task.size_names) {
    text += "  if (" + size + " < 1) return cudaErrorInvalidValue;\n";
  }
  std::string call;
  for (const Parameter& parameter : request.task.parameters()) {
    call += call.empty() ? "" : ", ";
    const bool input = parameter.role == Parameter::Role::input;
    if (input || parameter.role == Parameter::Role::output) {
      text += "  if (" + parameter.name + " == nullptr || (uintptr_t)" + parameter.name +
              " % 16 != 0) return cudaErrorInvalidValue;\n";
      call += std::string("(") + (input ? "const " : "") + std::string(cuda_type_of(parameter.dtype)) + "*)" +
              parameter.name;
    } else {
      call += parameter.role == Parameter::Role::stream ? "stream" : parameter.name;
    }
  }
  for (const auto* list : {&request.task.inputs, &request.task.outputs}) {
    for (const TensorSpec& spec : *list) {
      if (!spec.is_scalar()) text += element_checks(spec);
    }
  }
  text += "  " + launcher + "(" + call + ");\n  return cudaGetLastError();\n}\n";
  return files;
}

}  // namespace kw
