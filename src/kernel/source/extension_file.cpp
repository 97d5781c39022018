#include "kernel/source/extension_file.h"

#include <algorithm>

namespace kw {
namespace {

bool mentions_tensor(const TypeSyntax& type) {
  if (type.base != TypeSyntax::Base::name || type.name.parts.empty()) return false;
  const NamePart& last = type.name.parts.back();
  if (last.name == "Tensor") return true;
  return std::any_of(last.arguments.begin(), last.arguments.end(), [](const TemplateArgument& argument) {
    return argument.type != nullptr && mentions_tensor(*argument.type);
  });
}

bool takes_tensor(const FunctionSyntax& function) {
  return std::any_of(function.parameters.begin(), function.parameters.end(),
                     [](const ParameterSyntax& parameter) { return mentions_tensor(*parameter.type); });
}

bool runs_on_host(const FunctionSyntax& function) {
  return function.has_body && !function.is_global && !(function.is_device && !function.is_host) &&
         function.result != nullptr;
}

std::string full_name(const FunctionSyntax& function) {
  return function.scope.empty() ? std::string(function.name) : function.scope + "::" + std::string(function.name);
}

// The definition that `name` means from file level; null when there is none, an error when there are several.
Result<const FunctionSyntax*> find_function(const HostProgram& program, const std::string& name, TokenIndex token) {
  const FunctionSyntax* found = nullptr;
  for (const FunctionSyntax* function : program.functions) {
    if (!runs_on_host(*function)) continue;
    bool match = full_name(*function) == name;
    for (const std::string& used : program.used_namespaces) match = match || full_name(*function) == used + "::" + name;
    if (!match) continue;
    if (found != nullptr) {
      return Error{"the file has two functions `" + name + "`", "give the one that Python calls a name of its own",
                   program.position_of(function->token)};
    }
    found = function;
  }
  if (found != nullptr) return found;
  for (const UnreadDeclaration& unread : program.unread) {
    if (unread.name == name || unread.name.empty()) return unread.error;
  }
  return Error{"the file exports `" + name + "`, which it does not define", "", program.position_of(token)};
}

Result<const FunctionSyntax*> find_exported(const HostProgram& program) {
  const ExportedFunction* chosen = nullptr;
  for (const ExportedFunction& exported : program.exports) {
    if (exported.python_name == "forward" || program.exports.size() == 1) chosen = &exported;
  }
  if (chosen == nullptr) {
    // Kernel collections export each variant by its name; the one that answers is then the function `forward`.
    const FunctionSyntax* named = nullptr;
    for (const FunctionSyntax* function : program.functions) {
      if (function->name != "forward" || !function->scope.empty() || !runs_on_host(*function)) continue;
      if (function->generic.present || !mentions_tensor(*function->result)) continue;
      if (named != nullptr) return find_function(program, "forward", function->token);
      named = function;
    }
    if (named != nullptr) return named;
    return Error{"the file exports several functions and none as \"forward\"",
                 "export the function that answers the task as \"forward\"",
                 program.position_of(program.exports.front().token)};
  }
  if (chosen->function.empty()) {
    return Error{"\"" + chosen->python_name + "\" is not exported as a function by its name",
                 "write m.def(\"forward\", &function)", program.position_of(chosen->token)};
  }
  return find_function(program, chosen->function, chosen->token);
}

}  // namespace

bool is_torch_header(std::string_view name) {
  for (const std::string_view folder : {"torch/", "ATen/", "c10/", "pybind11/", "THC/"}) {
    if (name.starts_with(folder)) return true;
  }
  return false;
}

bool includes_torch(const std::vector<IncludeLine>& includes) {
  return std::any_of(includes.begin(), includes.end(),
                     [](const IncludeLine& include) { return is_torch_header(include.name); });
}

bool is_extension(const HostProgram& program) {
  if (!program.uses_torch) return false;
  // A launcher answers, whatever else the file exports.
  for (const FunctionSyntax* function : program.functions) {
    if (function->name == "launch" && function->scope.empty() && runs_on_host(*function))
      return takes_tensor(*function) || mentions_tensor(*function->result);
  }
  return true;
}

Result<const FunctionSyntax*> find_extension_entry(const HostProgram& program) {
  if (!program.exports.empty()) return find_exported(program);
  std::vector<const FunctionSyntax*> candidates, named;
  for (const FunctionSyntax* function : program.functions) {
    if (!runs_on_host(*function) || function->generic.present) continue;
    if (!takes_tensor(*function) && !mentions_tensor(*function->result)) continue;
    candidates.push_back(function);
    if (function->name == "forward") named.push_back(function);
  }
  if (named.size() == 1) return named.front();
  if (candidates.size() == 1) return candidates.front();
  if (!candidates.empty()) {
    return Error{"it is not clear which function answers the task", "call it `forward`, or export it as \"forward\"",
                 program.position_of(candidates.back()->token)};
  }
  if (!program.unread.empty()) return program.unread.front().error;
  return Error{"the file has no function that takes and returns tensors",
               "add `torch::Tensor forward(torch::Tensor x, ...)`, or `launch` as the task declares it",
               {program.file, 0, 0}};
}

}  // namespace kw
