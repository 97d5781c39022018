#include "kernel/source/kernel_file.h"

#include <algorithm>

#include "kernel/source/extension_file.h"
#include "kernel/source/host_parser.h"
#include "kernel/source/host_syntax.h"

namespace kw {
namespace {

constexpr std::string_view launcher_name = "launch";

KernelFunction describe_kernel(const HostProgram& program, const FunctionSyntax& function) {
  KernelFunction kernel;
  kernel.name =
      function.scope.empty() ? std::string(function.name) : function.scope + "::" + std::string(function.name);
  for (const TemplateParameter& parameter : function.generic.parameters) {
    std::string text = parameter.is_template             ? "template class "
                       : parameter.value_type != nullptr ? print(*parameter.value_type) + " "
                                                         : "typename ";
    kernel.template_parameters.push_back(text + std::string(parameter.name));
  }
  for (const ParameterSyntax& parameter : function.parameters) {
    kernel.parameters.push_back({std::string(parameter.name), print(*parameter.type)});
  }
  kernel.has_launch_bounds = !function.launch_bounds.empty();
  kernel.extern_c = function.extern_c;
  kernel.where = program.position_of(function.token);
  return kernel;
}

// Host ranges become spaces; line ends stay, and so do directives: device code may need what they define.
Result<std::string> cut_host_code(const HostProgram& program) {
  std::vector<HostRange> ranges = program.host_ranges;
  std::vector<HostRange> kept = program.device_ranges;
  const auto by_begin = [](const HostRange& a, const HostRange& b) { return a.begin < b.begin; };
  std::sort(ranges.begin(), ranges.end(), by_begin);
  std::sort(kept.begin(), kept.end(), by_begin);
  std::size_t next = 0;
  std::uint32_t kept_end = 0;
  for (const HostRange& range : ranges) {
    while (next < kept.size() && kept[next].begin < range.end) kept_end = std::max(kept_end, kept[next++].end);
    if (kept_end > range.begin) {
      return Error{"one macro produces host code together with device code",
                   "write the launcher outside of the macro that defines kernels", program.position_of(range.token)};
    }
  }
  std::string text = program.text;
  std::size_t directive = 0;
  const std::vector<Token>& tokens = program.stream.tokens;
  for (const HostRange& range : ranges) {
    std::uint32_t at = range.begin;
    const auto blank_to = [&](std::uint32_t end) {
      for (; at < end; ++at) {
        if (text[at] != '\n' && text[at] != '\r') text[at] = ' ';
      }
    };
    for (; directive < tokens.size() && tokens[directive].offset < range.end; ++directive) {
      if (tokens[directive].kind != TokenKind::directive || tokens[directive].offset < at) continue;
      blank_to(tokens[directive].offset);
      at = std::max(at, tokens[directive].end_offset());
    }
    blank_to(range.end);
  }
  return text;
}

Result<Position> find_launcher(const HostProgram& program) {
  const FunctionSyntax* launcher = nullptr;
  for (const FunctionSyntax* function : program.functions) {
    if (function->name != launcher_name || !function->has_body || !function->scope.empty()) continue;
    if (function->is_global || (function->is_device && !function->is_host)) continue;
    if (launcher != nullptr) {
      return Error{"the file has two functions `launch`", "keep one", program.position_of(function->token)};
    }
    launcher = function;
  }
  if (launcher != nullptr) {
    if (launcher->generic.present) {
      return Error{"the launcher is a template", "give `launch` the types of the task",
                   program.position_of(launcher->token)};
    }
    return program.position_of(launcher->token);
  }
  for (const UnreadDeclaration& unread : program.unread) {
    if (unread.name == launcher_name || unread.name.empty()) return unread.error;
  }
  return Error{"the file has no launcher", "add the function `launch` that the task declares", {program.file, 0, 0}};
}

}  // namespace

Result<KernelFile> read_kernel_file(std::string_view text, std::string_view file) {
  if (text.size() > max_kernel_file_bytes) {
    return Error{
        "the file is larger than " + std::to_string(max_kernel_file_bytes) + " bytes", "", {std::string(file), 0, 0}};
  }
  auto program = std::make_shared<HostProgram>();
  program->file = file;
  program->text = text;
  program->stream = lex(program->text, file);
  if (!program->stream.errors.empty()) return program->stream.errors.front();
  KW_TRY(program->source, preprocess(program->stream));
  program->uses_torch = includes_torch(program->source.includes);
  HostParser(*program).parse_file();

  KernelFile result;
  result.file = file;
  if (is_extension(*program)) {
    KW_TRY(program->extension_entry, find_extension_entry(*program));
    result.launcher = program->position_of(program->extension_entry->token);
  } else {
    KW_TRY(result.launcher, find_launcher(*program));
  }
  KW_TRY(result.device_source, cut_host_code(*program));
  for (const FunctionSyntax* function : program->functions) {
    if (function->is_global && function->has_body && !function->is_specialisation) {
      result.kernels.push_back(describe_kernel(*program, *function));
    }
  }
  result.includes = program->source.includes;
  result.program = std::move(program);
  return result;
}

}  // namespace kw
