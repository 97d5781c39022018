// Calls of the user's own functions, lambdas and member functions.

#include <algorithm>

#include "kernel/source/host_interpreter.h"

namespace kw {
namespace {

// A result whose type is there only under a condition: then so is the function.
bool names_enable_if(const TypeSyntax& type) {
  return type.base == TypeSyntax::Base::name &&
         std::any_of(type.name.parts.begin(), type.name.parts.end(),
                     [](const NamePart& part) { return part.name == "enable_if" || part.name == "enable_if_t"; });
}

}  // namespace

Result<HostValue> HostInterpreter::evaluate_call(const Expr& expr) {
  const Expr& callee = *expr.children[0];
  if (callee.kind == ExprKind::member) return call_method(expr, callee);
  if (callee.kind == ExprKind::name) {
    const Name& name = callee.name;
    const NamePart& last = name.parts.back();
    const bool local =
        name.parts.size() == 1 && (find_variable(last.name) != nullptr || find_binding(last.name) != nullptr);
    if (!local && find_declared(name) == nullptr) {
      for (const NamePart& part : name.parts) {
        if (part.name == "numeric_limits") return call_limits(name, expr.token);
      }
      if (program_.uses_torch) {
        KW_TRY(std::optional<HostValue> result, call_torch(name, expr));
        if (result) return *result;
      }
      const bool standard = name.parts.size() == 1 || name.parts[0].name == "std" || name.parts[0].name == "cuda";
      if (standard) {
        KW_TRY(std::optional<HostValue> result, call_runtime(last.name, expr));
        if (result) return *result;
        KW_TRY(result, call_standard(last.name, expr));
        if (result) return *result;
      }
      if (name.parts.size() == 1 && frame().self_type != nullptr && frame().self != nullptr) {
        for (const FunctionSyntax* function : frame().self_type->structure->syntax->functions) {
          if (function->name != last.name || !accepts(*function, expr.children.size() - 1)) continue;
          KW_TRY(auto arguments, evaluate_call_arguments(expr, 1));
          const BoundArguments bindings = struct_bindings_[frame().self_type];
          return run_function(*function, bindings, std::move(arguments), frame().self, frame().self_type, expr.token);
        }
      }
      if (name.parts.size() > 1) {
        const Result<const HostType*> owner = resolve_name(name, name.parts.size() - 1, expr.token);
        if (owner.ok() && (*owner)->kind == TypeKind::structure) return call_static_method(*owner, expr, last.name);
      }
      if (const auto error = unread_declaration(last.name)) return *error;
      return unknown("the function " + describe(callee), callee.token);
    }
  }
  KW_TRY(const HostValue function, evaluate_set(callee));
  KW_TRY(auto arguments, evaluate_call_arguments(expr, 1));
  if (const auto* closure = std::get_if<std::shared_ptr<const Closure>>(&function.data)) {
    const std::shared_ptr<const Closure> keep = *closure;
    return call_closure(*keep, std::move(arguments), expr.token);
  }
  if (const auto* plain = std::get_if<std::shared_ptr<const FunctionValue>>(&function.data)) {
    const std::shared_ptr<const FunctionValue> keep = *plain;
    return call_function(*keep, std::move(arguments), expr);
  }
  return fail(describe(callee) + " is not a function", expr.token);
}

Result<std::vector<CallArgument>> HostInterpreter::evaluate_call_arguments(const Expr& expr, std::size_t first) {
  std::vector<CallArgument> arguments;
  for (std::size_t i = first; i < expr.children.size(); ++i) {
    const Expr& child = *expr.children[i];
    CallArgument argument;
    if (child.kind == ExprKind::braces) {
      argument.braces = &child;
    } else if (is_variable(child)) {
      KW_TRY(argument.cell, locate(child));
      argument.value.type = argument.cell->type->plain;
      if (argument.cell->is_set()) {
        KW_TRY(argument.value, read(*argument.cell, child));
      }
    } else {
      KW_TRY(argument.value, evaluate_set(child));
    }
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

// The sum of the conversions' ranks; -1 when an argument does not fit.
Result<int> HostInterpreter::overload_rank(const FunctionSyntax& function, const BoundArguments& bindings,
                                           const std::vector<CallArgument>& arguments) {
  int total = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].braces != nullptr) continue;
    const TypeSyntax& syntax = *function.parameters[i].type;
    KW_TRY(const HostType* type, within(bindings, function.scope, [&] { return resolve(syntax); }));
    const int rank = conversion_rank(*arguments[i].value.type, *type);
    if (rank < 0) return -1;
    total += rank;
  }
  return total;
}

Result<const FunctionSyntax*> HostInterpreter::choose_overload(const FunctionValue& function,
                                                               const std::vector<CallArgument>& arguments, bool kernel,
                                                               TokenIndex token, BoundArguments* bindings) {
  const std::string what = kernel ? "kernel `" : "function `";
  if (function.candidates.size() > max_overloads) return fail("`" + function.name + "` has too many overloads", token);
  std::vector<const FunctionSyntax*> fitting;
  // A host function may have its kernel's name: who is launched and who is called is plain.
  const bool both = std::any_of(function.candidates.begin(), function.candidates.end(),
                                [&](const FunctionSyntax* candidate) { return candidate->is_global == kernel; });
  for (const FunctionSyntax* candidate : function.candidates) {
    if (candidate->is_specialisation || (both && candidate->is_global != kernel)) continue;
    if (kernel && !candidate->is_global)
      return fail("`" + function.name + "` is not a kernel", token, "mark it __global__");
    if (!kernel && candidate->is_global) {
      return fail("the kernel `" + function.name + "` is called like a function", token,
                  "launch it with <<<grid, block>>>");
    }
    if (candidate->variadic) return unknown("a function with `...`", token);
    if (accepts(*candidate, arguments.size())) fitting.push_back(candidate);
  }
  if (fitting.empty()) {
    std::string message =
        "the " + what + function.name + "` does not take " + std::to_string(arguments.size()) + " arguments";
    if (function.candidates.size() == 1) {
      message += " but " + std::to_string(function.candidates[0]->parameters.size());
    }
    return fail(message, token);
  }
  const FunctionSyntax* best = nullptr;
  int best_rank = 0;
  bool ambiguous = false;
  std::optional<Error> refused;
  for (const FunctionSyntax* candidate : fitting) {
    BoundArguments bound;
    if (candidate->generic.present) {
      Result<BoundArguments> result = bind_template(*candidate, function.explicit_arguments.get(), arguments, token);
      if (!result.ok()) {
        refused = result.error();
        continue;
      }
      bound = std::move(result).value();
      if (candidate->result != nullptr && names_enable_if(*candidate->result)) {
        const auto enabled = within(bound, candidate->scope, [&] { return resolve(*candidate->result); });
        if (!enabled.ok()) {
          refused = enabled.error();
          continue;
        }
      }
    } else if (function.explicit_arguments != nullptr) {
      refused = fail("`" + function.name + "` is not a template", token);
      continue;
    }
    int rank = 0;
    if (fitting.size() > 1) {
      const Result<int> computed = overload_rank(*candidate, bound, arguments);
      if (!computed.ok() || *computed < 0) continue;
      rank = *computed * 2 + (candidate->generic.present ? 1 : 0);
    }
    if (best == nullptr || rank < best_rank) {
      best = candidate;
      best_rank = rank;
      *bindings = std::move(bound);
      ambiguous = false;
    } else if (rank == best_rank) {
      ambiguous = true;
    }
  }
  if (best == nullptr) return refused ? *refused : fail("no " + what + function.name + "` fits these arguments", token);
  if (ambiguous) return fail("more than one " + what + function.name + "` fits these arguments", token);
  if (!best->generic.present || kernel) return best;
  for (const FunctionSyntax* candidate : function.candidates) {  // an explicit specialisation for these arguments
    if (!candidate->is_specialisation) continue;
    if (candidate->specialised.empty()) return unknown("a specialisation without its arguments", candidate->token);
    KW_TRY(const BoundArguments special,
           within({}, candidate->scope, [&] { return evaluate_arguments(candidate->specialised); }));
    if (same_arguments(special, *bindings)) {
      bindings->clear();
      return candidate;
    }
  }
  return best;
}

Result<HostValue> HostInterpreter::call_function(const FunctionValue& function, std::vector<CallArgument> arguments,
                                                 const Expr& expr) {
  BoundArguments bindings;
  KW_TRY(const FunctionSyntax* chosen, choose_overload(function, arguments, false, expr.token, &bindings));
  return run_function(*chosen, std::move(bindings), std::move(arguments), nullptr, nullptr, expr.token);
}

Result<HostValue> HostInterpreter::run_function(const FunctionSyntax& function, BoundArguments bindings,
                                                std::vector<CallArgument> arguments, HostValue* self,
                                                const HostType* self_type, TokenIndex token) {
  const StepGuard guard(*this, token);
  if (guard.error) return *guard.error;
  if (call_depth_ >= limits_.max_call_depth) return fail("the launcher's functions call each other too deeply", token);
  const std::string name(function.name);
  if (function.is_device && !function.is_host && !function.is_constexpr) {
    return fail("the launcher calls the device function `" + name + "`", token, "mark it __host__ __device__");
  }
  if (function.body_error) return *function.body_error;
  if (function.body == nullptr) return fail("the function `" + name + "` has no body", token);
  ++call_depth_;
  Result<HostValue> result = within(std::move(bindings), function.scope, [&]() -> Result<HostValue> {
    frame().self = self;
    frame().self_type = self_type;
    KW_TRY_VOID(bind_call(function.parameters, arguments, token));
    const bool deduced = function.result != nullptr && function.result->base == TypeSyntax::Base::automatic;
    if (function.result == nullptr) {
      frame().result = types_.basic(TypeKind::void_);
      for (const auto& [member, values] : function.member_initialisers) {
        HostValue* field = find_field(member);
        if (field == nullptr) return fail("`" + std::string(member) + "` is not a member", function.token);
        KW_TRY(const HostValue value, construct(field->type, values, false, function.token));
        assign(*field, value);
      }
    } else if (!deduced) {
      KW_TRY(frame().result, resolve(*function.result));
    }
    return run_body(*function.body, token);
  });
  --call_depth_;
  return result;
}

// Declares the parameters in the callee's frame.
Result<void> HostInterpreter::bind_call(const std::vector<ParameterSyntax>& parameters,
                                        std::vector<CallArgument>& arguments, TokenIndex token) {
  if (arguments.size() > parameters.size()) return fail("a function gets too many arguments", token);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const ParameterSyntax& parameter = parameters[i];
    const bool automatic = parameter.type->base == TypeSyntax::Base::automatic;
    if (i >= arguments.size()) {
      if (parameter.initial == nullptr) return fail("a function gets too few arguments", token);
      CallArgument argument;
      if (parameter.initial->kind == ExprKind::braces) {
        argument.braces = parameter.initial;
      } else {
        KW_TRY(argument.value, evaluate_set(*parameter.initial));
      }
      arguments.push_back(std::move(argument));
    }
    CallArgument& argument = arguments[i];
    const bool reference = is_reference(*parameter.type);
    const HostType* type = nullptr;
    if (automatic) {
      if (argument.value.type == nullptr) return unknown("a list in braces without a type", token);
      type = argument.value.type->plain;
    } else {
      KW_TRY(type, resolve(*parameter.type));
    }
    const bool writable = reference && !parameter.type->is_const;
    if (reference && argument.cell != nullptr && argument.cell->type->plain == type->plain) {
      if (writable && argument.cell->type->is_const) return fail("a constant is passed as a reference", token);
      frame().scopes.back().variables.emplace_back(parameter.name, argument.cell);
      continue;
    }
    if (writable && parameter.type->suffixes.back().kind == TypeSyntax::Suffix::Kind::lvalue_reference) {
      return fail("the parameter `" + std::string(parameter.name) + "` needs a variable of type " + type->name, token);
    }
    HostValue value;
    if (argument.braces != nullptr) {
      KW_TRY(value, construct(type, argument.braces->children, true, token));
    } else {
      if (!argument.value.is_set()) return fail("an argument is used before it has a value", token);
      KW_TRY_AT(value, convert(argument.value, type, Conversion::implicit, types_), token);
    }
    KW_TRY(HostValue * cell, declare(parameter.name, type, token));
    cell->data = std::move(value.data);
  }
  return {};
}

Result<HostValue> HostInterpreter::run_body(const Stmt& body, TokenIndex token) {
  KW_TRY(const Flow flow, execute(body));
  const HostType* wanted = frame().result;
  while (!frame().scopes.empty()) close_scope();
  if (flow == Flow::return_) return frame().returned;
  if (wanted != nullptr && wanted->kind != TypeKind::void_)
    return fail("a function ends without returning a value", token);
  return HostValue{types_.basic(TypeKind::void_), std::int64_t{0}};
}

Result<HostValue> HostInterpreter::call_closure(const Closure& closure, std::vector<CallArgument> arguments,
                                                TokenIndex token) {
  const StepGuard guard(*this, token);
  if (guard.error) return *guard.error;
  if (call_depth_ >= limits_.max_call_depth) return fail("the launcher's functions call each other too deeply", token);
  if (closure.syntax->body == nullptr) return unknown("this lambda", token);
  ++call_depth_;
  Result<HostValue> result = within(closure.bindings, closure.scope, [&]() -> Result<HostValue> {
    frame().self = closure.self;
    steps_left_ -= static_cast<std::int64_t>(closure.captured.size() + closure.types.size()) / 8;
    frame().scopes.back().variables = closure.captured;
    frame().scopes.back().types = closure.types;
    open_scope();
    KW_TRY_VOID(bind_call(closure.syntax->parameters, arguments, token));
    if (closure.syntax->result != nullptr) {
      KW_TRY(frame().result, resolve(*closure.syntax->result));
    }
    return run_body(*closure.syntax->body, token);
  });
  --call_depth_;
  return result;
}

Result<HostValue> HostInterpreter::call_method(const Expr& expr, const Expr& callee) {
  HostValue* self = nullptr;
  const Expr& owner = *callee.children[0];
  if (callee.arrow) {
    KW_TRY(const HostValue pointer, evaluate_set(owner));
    if (pointer.type->kind == TypeKind::optional) {
      KW_TRY(HostValue value, optional_value(pointer, callee.token));
      KW_TRY(self, new_cell(value.type->plain, expr.token));
      self->data = std::move(value.data);
    } else {
      KW_TRY(self, locate_target(pointer, callee));
    }
  } else if (is_variable(owner)) {
    KW_TRY(self, locate(owner));
  } else {
    KW_TRY(HostValue value, evaluate_set(owner));
    KW_TRY(self, new_cell(value.type->plain, expr.token));
    self->data = std::move(value.data);
  }
  const HostType* type = self->type->plain;
  if (program_.uses_torch) {
    KW_TRY(std::optional<HostValue> result, call_torch_method(*self, expr, callee));
    if (result) return *result;
  }
  if (type->kind != TypeKind::structure || type->structure->syntax == nullptr) {
    return fail("a value of type " + type->name + " has no member functions", callee.token);
  }
  for (const FunctionSyntax* function : type->structure->syntax->functions) {
    if (function->name != callee.text || !accepts(*function, expr.children.size() - 1)) continue;
    if (function->generic.present) return unknown("a member template", callee.token);
    KW_TRY(auto arguments, evaluate_call_arguments(expr, 1));
    const BoundArguments bindings = struct_bindings_[type];
    return run_function(*function, bindings, std::move(arguments), self, type, expr.token);
  }
  return fail("`" + type->name + "` has no member function `" + std::string(callee.text) + "` for these arguments",
              callee.token);
}

Result<HostValue> HostInterpreter::call_static_method(const HostType* type, const Expr& expr, std::string_view name) {
  if (type->structure->syntax != nullptr) {
    for (const FunctionSyntax* function : type->structure->syntax->functions) {
      if (function->name != name || !function->is_static || !accepts(*function, expr.children.size() - 1)) continue;
      if (function->generic.present) return unknown("a member template", expr.token);
      KW_TRY(auto arguments, evaluate_call_arguments(expr, 1));
      const BoundArguments bindings = struct_bindings_[type->plain];
      return run_function(*function, bindings, std::move(arguments), nullptr, type->plain, expr.token);
    }
  }
  return fail("`" + type->name + "` has no static function `" + std::string(name) + "` for these arguments",
              expr.token);
}

}  // namespace kw
