// Template arguments: given, deduced from a call's arguments, or by default.

#include "kernel/source/host_interpreter.h"

namespace kw {

Result<BoundArguments> HostInterpreter::evaluate_arguments(const std::vector<TemplateArgument>& arguments) {
  BoundArguments result;
  for (const TemplateArgument& argument : arguments) {
    BoundArgument bound;
    if (argument.type != nullptr) {
      KW_TRY(bound.type, resolve(*argument.type));
    } else {
      KW_TRY(bound.value, evaluate_set(*argument.value));
    }
    result.push_back(std::move(bound));
  }
  return result;
}

// Gives each parameter its argument: from `given` by position, then the default.
Result<BoundArguments> HostInterpreter::bind_parameters_of(const TemplateSyntax& generic, const BoundArguments& given,
                                                           std::string_view what, TokenIndex token) {
  if (given.size() > generic.parameters.size()) {
    return fail("too many template arguments for `" + std::string(what) + "`", token);
  }
  BoundArguments bindings = given;
  bindings.resize(generic.parameters.size());
  for (std::size_t i = 0; i < generic.parameters.size(); ++i) {
    const TemplateParameter& parameter = generic.parameters[i];
    BoundArgument& bound = bindings[i];
    bound.name = parameter.name;
    if (parameter.is_pack || parameter.is_template) {
      return unknown(parameter.is_pack ? "a template parameter pack" : "a template template parameter", token);
    }
    const bool missing = bound.type == nullptr && bound.value.type == nullptr;
    if (missing) {
      const BoundArguments before(bindings.begin(), bindings.begin() + static_cast<std::ptrdiff_t>(i));
      if (parameter.default_type != nullptr) {
        KW_TRY(bound.type, within(before, frame().scope, [&] { return resolve(*parameter.default_type); }));
      } else if (parameter.default_value != nullptr) {
        KW_TRY(bound.value, within(before, frame().scope, [&] { return evaluate_set(*parameter.default_value); }));
      } else {
        return fail("the template argument `" + std::string(parameter.name) + "` of `" + std::string(what) +
                        "` is neither given nor can it be deduced",
                    token);
      }
    }
    if ((bound.type != nullptr) != (parameter.value_type == nullptr)) {
      return fail("the template argument `" + std::string(parameter.name) + "` of `" + std::string(what) +
                      "` must be a " + (parameter.value_type == nullptr ? "type" : "value"),
                  token);
    }
    if (parameter.value_type != nullptr && parameter.value_type->base != TypeSyntax::Base::automatic) {
      const BoundArguments before(bindings.begin(), bindings.begin() + static_cast<std::ptrdiff_t>(i));
      KW_TRY(const HostType* type, within(before, frame().scope, [&] { return resolve(*parameter.value_type); }));
      if (type->kind != TypeKind::function) {
        KW_TRY_AT(bound.value, convert(bound.value, type, Conversion::implicit, types_), token);
      }
    }
  }
  return bindings;
}

void HostInterpreter::deduce(const TypeSyntax& pattern, const HostType* actual, const TemplateSyntax& generic,
                             BoundArguments& bindings) {
  if (pattern.base != TypeSyntax::Base::name || actual == nullptr) return;
  const HostType* type = actual->plain;
  if (type->kind == TypeKind::array) type = types_.pointer_to(type->element);
  using Kind = TypeSyntax::Suffix::Kind;
  bool pointer = false;
  for (auto suffix = pattern.suffixes.rbegin(); suffix != pattern.suffixes.rend(); ++suffix) {
    if (suffix->kind == Kind::lvalue_reference || suffix->kind == Kind::rvalue_reference) continue;
    if (suffix->kind != Kind::pointer || type->kind != TypeKind::pointer) return;
    type = type->element;
    pointer = true;
  }
  const NamePart& last = pattern.name.parts.back();
  if (last.has_arguments && type->kind == TypeKind::structure && type->structure->syntax != nullptr) {
    const auto found = struct_bindings_.find(type->plain);  // Vec<T, N>
    if (type->structure->syntax->name != last.name || found == struct_bindings_.end()) return;
    const BoundArguments inner = found->second;
    for (std::size_t i = 0; i < last.arguments.size() && i < inner.size(); ++i) {
      const TemplateArgument& argument = last.arguments[i];
      if (argument.type != nullptr) {
        deduce(*argument.type, inner[i].type, generic, bindings);
      } else if (argument.value != nullptr && argument.value->kind == ExprKind::name) {
        for (std::size_t p = 0; p < generic.parameters.size(); ++p) {
          const bool match = generic.parameters[p].name == argument.value->name.parts.back().name;
          if (match && bindings[p].value.type == nullptr) bindings[p].value = inner[i].value;
        }
      }
    }
    return;
  }
  if (pattern.name.parts.size() != 1 || last.has_arguments) return;
  // `const T*` takes the const off; a plain `T*` keeps it in T.
  if (!pointer || pattern.is_const) type = type->plain;
  for (std::size_t p = 0; p < generic.parameters.size(); ++p) {
    const TemplateParameter& parameter = generic.parameters[p];
    if (parameter.name == last.name && parameter.value_type == nullptr && bindings[p].type == nullptr) {
      bindings[p].type = type;
    }
  }
}

Result<BoundArguments> HostInterpreter::bind_template(const FunctionSyntax& function,
                                                      const BoundArguments* explicit_arguments,
                                                      const std::vector<CallArgument>& arguments, TokenIndex token) {
  const StepGuard guard(*this, token);
  if (guard.error) return *guard.error;
  const BoundArguments none;
  const BoundArguments& given = explicit_arguments != nullptr ? *explicit_arguments : none;
  if (given.size() > function.generic.parameters.size()) {
    return fail("too many template arguments for `" + std::string(function.name) + "`", token);
  }
  BoundArguments bindings = given;
  bindings.resize(function.generic.parameters.size());
  for (std::size_t i = 0; i < function.parameters.size() && i < arguments.size(); ++i) {
    deduce(*function.parameters[i].type, arguments[i].value.type, function.generic, bindings);
  }
  return within({}, function.scope,
                [&] { return bind_parameters_of(function.generic, bindings, function.name, token); });
}

bool HostInterpreter::same_arguments(const BoundArguments& a, const BoundArguments& b) const {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].type != b[i].type) return false;
    if (a[i].type != nullptr) continue;
    if (!a[i].value.is_integer_value() || !b[i].value.is_integer_value()) return false;
    if (a[i].value.integer() != b[i].value.integer()) return false;
  }
  return true;
}

std::string HostInterpreter::print_arguments(const BoundArguments& arguments) const {
  std::string text;
  for (const BoundArgument& argument : arguments) {
    if (!text.empty()) text += ", ";
    if (argument.type != nullptr) {
      text += argument.type->name;
    } else if (const auto* function = std::get_if<std::shared_ptr<const FunctionValue>>(&argument.value.data)) {
      text += (*function)->name;
    } else {
      text += print(argument.value);
    }
  }
  return text;
}

}  // namespace kw
