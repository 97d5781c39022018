// Calls of the user's own functions, lambdas and member functions. Each instance of a function, for its template
// arguments and the types of its arguments, is a Python function.

#include "kernel/export/launcher_translator.h"

namespace kw {
namespace {

bool prints(std::string_view name) {
  return name == "printf" || name == "fprintf" || name == "puts" || name == "fputs" || name == "fflush" ||
         name == "perror" || name == "sprintf" || name == "snprintf";
}

}  // namespace

Result<std::vector<LauncherTranslator::Argument>> LauncherTranslator::call_arguments(
    const std::vector<const Expr*>& values) {
  std::vector<Argument> arguments;
  for (const Expr* value : values) {
    Argument argument;
    argument.expr = value;
    if (value->kind == ExprKind::braces) {
      argument.braces = value;
    } else {
      const HostType* known = is_variable(*value) ? static_type(*value) : nullptr;
      if (known != nullptr && known->kind == TypeKind::array) {
        argument.code = plain(types_.pointer_to(known->element), "");
      }
      KW_TRY(argument.code, translate(*value));
    }
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

std::vector<CallArgument> LauncherTranslator::types_of(const std::vector<Argument>& arguments) const {
  std::vector<CallArgument> result;
  for (const Argument& argument : arguments) {
    CallArgument typed;
    typed.braces = argument.braces;
    typed.value.type = argument.braces != nullptr ? nullptr : argument.code.type->plain;
    result.push_back(std::move(typed));
  }
  return result;
}

Result<LauncherTranslator::Code> LauncherTranslator::call(const Expr& expr, bool discard) {
  const Expr& callee = *expr.children[0];
  if (callee.kind == ExprKind::member) return method(expr, callee, discard);
  if (ends_program(expr)) {
    emit("refuse(\"the launcher gives up\", " + std::to_string(program_.position_of(expr.token).line) + ")");
    return plain(types_.basic(TypeKind::void_), "None");
  }
  if (callee.kind == ExprKind::name) {
    const Name& name = callee.name;
    const NamePart& last = name.parts.back();
    const bool local =
        name.parts.size() == 1 && (find_variable(last.name) != nullptr || find_binding(last.name) != nullptr);
    if (!local && find_declared(name) == nullptr) {
      for (const NamePart& part : name.parts) {
        if (part.name != "numeric_limits") continue;
        KW_TRY(const HostValue value, call_limits(name, expr.token));
        return code_of(value);
      }
      if (prints(last.name)) return plain(types_.int_type(), "0");
      const bool standard = name.parts.size() == 1 || name.parts[0].name == "std" || name.parts[0].name == "cuda";
      if (standard) {
        KW_TRY(std::optional<Code> result, runtime_call(last.name, expr));
        if (result) return *result;
        KW_TRY(result, standard_call(last.name, expr));
        if (result) return *result;
      }
      const std::vector<const Expr*> values(expr.children.begin() + 1, expr.children.end());
      const HostType* owner = nullptr;
      std::string self;
      if (name.parts.size() == 1 && frame().self_type != nullptr && frame().self != nullptr) {
        owner = frame().self_type;
        self = "self";
      } else if (name.parts.size() > 1) {
        const Result<const HostType*> found = resolve_name(name, name.parts.size() - 1, expr.token);
        if (found.ok() && (*found)->kind == TypeKind::structure) owner = (*found)->plain;
      }
      if (owner != nullptr && owner->structure->syntax != nullptr) {
        for (const FunctionSyntax* function : owner->structure->syntax->functions) {
          if (function->name != last.name || !accepts(*function, values.size())) continue;
          if (self.empty() && !function->is_static) continue;
          if (function->generic.present) return refuse("a member template", expr.token);
          KW_TRY(std::vector<Argument> arguments, call_arguments(values));
          return call_instance(*function, struct_bindings_[owner], std::move(arguments), self.empty() ? nullptr : &self,
                               owner, expr.token, discard);
        }
      }
      if (const auto error = unread_declaration(last.name)) return *error;
      return refuse("the function " + describe(callee), callee.token);
    }
  }
  KW_TRY(const Code function, translate(callee));
  const std::vector<const Expr*> values(expr.children.begin() + 1, expr.children.end());
  if (function.closure != nullptr) {
    KW_TRY(std::vector<Argument> arguments, call_arguments(values));
    return call_lambda(function.closure, std::move(arguments), expr.token, discard);
  }
  if (function.function != nullptr) return call_user(*function.function, expr, discard);
  return refuse("a call of " + describe(callee), expr.token);
}

Result<LauncherTranslator::Code> LauncherTranslator::call_user(const FunctionValue& function, const Expr& expr,
                                                               bool discard) {
  const std::vector<const Expr*> values(expr.children.begin() + 1, expr.children.end());
  KW_TRY(std::vector<Argument> arguments, call_arguments(values));
  BoundArguments bindings;
  const std::vector<CallArgument> types = types_of(arguments);
  KW_TRY(const FunctionSyntax* chosen, choose_overload(function, types, false, expr.token, &bindings));
  return call_instance(*chosen, bindings, std::move(arguments), nullptr, nullptr, expr.token, discard);
}

// What the caller hands over for each parameter, in the callee's frame (for the parameters' types).
Result<std::vector<LauncherTranslator::Passed>> LauncherTranslator::pass(const std::vector<ParameterSyntax>& parameters,
                                                                         std::vector<Argument>& arguments,
                                                                         TokenIndex token) {
  if (arguments.size() > parameters.size()) return fail("a function gets too many arguments", token);
  std::vector<Passed> result;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const ParameterSyntax& parameter = parameters[i];
    if (i >= arguments.size()) {
      if (parameter.initial == nullptr) return fail("a function gets too few arguments", token);
      Argument argument;
      if (parameter.initial->kind == ExprKind::braces) {
        argument.braces = parameter.initial;
      } else {
        KW_TRY(argument.code, translate(*parameter.initial));
      }
      arguments.push_back(std::move(argument));
    }
    Argument& argument = arguments[i];
    Passed passed;
    const HostType* type = nullptr;
    if (parameter.type->base == TypeSyntax::Base::automatic) {
      if (argument.code.type == nullptr) return refuse("a list in braces without a type", token);
      type = argument.code.type->plain;
    } else {
      KW_TRY(type, resolve(*parameter.type));
    }
    passed.type = type;
    if (argument.code.closure != nullptr) {
      passed.closure = argument.code.closure;
    } else if (argument.code.function != nullptr && !argument.code.function->candidates.empty() &&
               !argument.code.function->candidates[0]->is_global) {
      passed.function = argument.code.function;  // a host function, known at translation
    } else if (argument.code.function != nullptr) {
      KW_TRY(passed.text, kernel_value(argument.code, token));
    } else if (argument.braces != nullptr) {
      KW_TRY(const Code code, build(type, argument.braces->children, true, token));
      passed.text = code.text;
    } else {
      const bool writable = is_reference(*parameter.type) && !parameter.type->is_const &&
                            parameter.type->suffixes.back().kind == TypeSyntax::Suffix::Kind::lvalue_reference;
      passed.reference = writable && type->kind != TypeKind::structure;
      KW_TRY(const Code code, converted(argument.code, type, Conversion::implicit, token));
      passed.text = is_reference(*parameter.type) ? code.text : kept(code);
    }
    result.push_back(std::move(passed));
  }
  return result;
}

// Declares the parameters in the callee's frame; the text of its parameter list.
Result<std::string> LauncherTranslator::bind_passed(const std::vector<ParameterSyntax>& parameters,
                                                    const std::vector<Passed>& passed) {
  std::string list;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const ParameterSyntax& parameter = parameters[i];
    const std::string_view name = parameter.name.empty() ? std::string_view("unused") : parameter.name;
    if (passed[i].closure != nullptr || passed[i].function != nullptr) {
      KW_TRY(HostValue * cell, declare(parameter.name, passed[i].type, parameter.token));
      if (passed[i].closure != nullptr) {
        closures_[cell] = passed[i].closure;
      } else {
        cell->data = passed[i].function;
      }
      continue;
    }
    std::string text;
    KW_TRY(HostValue * cell, declare_python(name, passed[i].type, parameter.token, &text));
    list += ", " + text;
    Place& place = places_.at(cell);
    if (passed[i].reference) {
      place.boxed = false;
      place.reference = true;
      place.text = text + ".value";
    } else if (place.boxed) {
      std::string boxed = text;
      emit(boxed.append(" = Array([").append(text).append("])"));
    }
  }
  return list;
}

Result<void> LauncherTranslator::function_body(const Stmt& body, const HostType* declared, Instance& instance,
                                               TokenIndex token) {
  frame().result = declared;
  instance.result = declared;
  std::vector<Loop*> loops;
  std::swap(loops, loops_);
  Result<End> end = statement(body);
  std::swap(loops, loops_);
  if (!end.ok()) return end.error();
  if (instance.result == nullptr) {
    instance.result = frame().result == nullptr ? types_.basic(TypeKind::void_) : frame().result;
  }
  if (*end == End::falls_through && instance.result->kind != TypeKind::void_) {
    emit("refuse(\"a function ends without returning a value\", " + std::to_string(program_.position_of(token).line) +
         ")");
  }
  return {};
}

void LauncherTranslator::bind_self(const HostType* type) {
  HostValue& self = cells_.emplace_back();
  self.type = type;
  HostValue::Aggregate parts;
  for (const FieldType& field : type->structure->fields) {
    HostValue part;
    part.type = field.type;
    parts.push_back(std::move(part));
  }
  self.data = std::move(parts);
  for (std::size_t i = 0; i < type->structure->fields.size(); ++i) {
    Place place;
    place.text = "self." + field_name(type->structure->fields[i].name);
    place.owner = function_.get();
    place.reference = true;
    places_[&self.parts()[i]] = std::move(place);
  }
  Place whole;
  whole.text = "self";
  whole.reference = true;
  places_[&self] = std::move(whole);
  frame().self = &self;
}

LauncherTranslator::Code LauncherTranslator::call_code(const Instance& instance, std::string text, bool discard) {
  if (instance.result->kind == TypeKind::void_ || discard) {
    emit(std::move(text));
    return plain(instance.result, "None");
  }
  // A call that launches must happen once, in its place.
  const std::string name = unique_name("result");
  emit(name + " = " + std::move(text));
  return plain(instance.result, name);
}

// The Python function of an instance that is called for the first time.
Result<void> LauncherTranslator::make_instance(const FunctionSyntax& function, const BoundArguments& bindings,
                                               const std::vector<Passed>& passed, bool has_self,
                                               const HostType* self_type, const TranslatedClosure* beside,
                                               Instance& instance, TokenIndex token) {
  std::string base(function.name);
  if (self_type != nullptr) {
    base = std::string(self_type->structure->syntax->name) + "_" + (function.result == nullptr ? "make" : base);
  }
  instance.name = base;
  const auto taken = [&](const std::string& text) {
    return !module_names_.insert(text).second || (beside != nullptr && !beside->names->insert(text).second);
  };
  for (int i = 2; taken(instance.name); ++i) instance.name = base + "_" + std::to_string(i);
  const std::shared_ptr<PythonFunction> outer_function = function_;
  PythonBlock* const outer_block = block_;
  enter_function(beside != nullptr ? beside->names : std::make_shared<std::set<std::string>>());
  const auto body = std::make_shared<PythonBlock>();
  block_ = body.get();
  std::string list;
  const Result<void> translated = within(bindings, function.scope, [&]() -> Result<void> {
    frame().self_type = self_type;
    if (has_self) bind_self(self_type);
    KW_TRY(list, bind_passed(function.parameters, passed));
    const HostType* declared = types_.basic(TypeKind::void_);
    if (function.result == nullptr) {
      for (const auto& [member, values] : function.member_initialisers) {
        HostValue* field = find_field(member);
        if (field == nullptr) return fail("`" + std::string(member) + "` is not a member", function.token);
        KW_TRY(const Code value, build(field->type, values, false, function.token));
        emit("self." + field_name(member) + " = " + kept(value));
      }
    } else if (function.result->base == TypeSyntax::Base::automatic) {
      declared = nullptr;
    } else {
      KW_TRY(declared, resolve(*function.result));
    }
    return function_body(*function.body, declared, instance, token);
  });
  block_ = outer_block;
  function_ = outer_function;
  if (!translated.ok()) return translated.error();
  if (has_self) list = ", self" + list;
  if (beside != nullptr) {
    if (list.starts_with(", ")) list = list.substr(2);
    beside->definitions->open("def " + instance.name + "(" + list + "):")->append(*body);
    return {};
  }
  functions_.open("def " + instance.name + "(rt" + list + "):")->append(*body);
  functions_.add("");
  functions_.add("");
  return {};
}

Result<LauncherTranslator::Code> LauncherTranslator::call_instance(const FunctionSyntax& function,
                                                                   const BoundArguments& bindings,
                                                                   std::vector<Argument> arguments,
                                                                   const std::string* self, const HostType* self_type,
                                                                   TokenIndex token, bool discard) {
  const std::string name(function.name);
  if (function.is_device && !function.is_host && !function.is_constexpr) {
    return fail("the launcher calls the device function `" + name + "`", token, "mark it __host__ __device__");
  }
  if (function.body_error) return *function.body_error;
  if (function.body == nullptr) return fail("the function `" + name + "` has no body", token);
  if (++translated_depth_ > limits_.max_call_depth) return refuse("functions that call each other so deeply", token);
  std::string key = std::to_string(reinterpret_cast<std::uintptr_t>(&function)) + "<" + print_arguments(bindings) + ">";
  if (self_type != nullptr) key += " of " + self_type->name;
  const TranslatedClosure* beside = nullptr;  // a function that gets a lambda must see what the lambda sees
  std::vector<Passed> passed;
  const Result<void> done = within(bindings, function.scope, [&]() -> Result<void> {
    frame().self_type = self_type;
    KW_TRY(passed, pass(function.parameters, arguments, token));
    return {};
  });
  if (!done.ok()) return done.error();
  for (std::size_t i = 0; i < passed.size(); ++i) {
    key += "; " + passed[i].type->name;
    if (passed[i].closure != nullptr) {
      beside = passed[i].closure.get();
      key += std::to_string(reinterpret_cast<std::uintptr_t>(beside));
    }
    if (passed[i].function != nullptr) key += passed[i].function->name;
    if (!passed[i].reference) continue;
    const Expr* expr = arguments[i].expr;  // in the caller's frame
    if (expr == nullptr || !is_variable(*expr)) {
      return fail("a reference parameter of `" + name + "` needs a variable", token);
    }
    KW_TRY(const Target target, target_of(*expr));
    if (target.type->plain != passed[i].type->plain) {
      return fail("a reference parameter of `" + name + "` needs a variable of type " + passed[i].type->name, token);
    }
    KW_TRY(passed[i].text, pointer_to_target(target, token));
  }
  std::shared_ptr<Instance>& known = instances_[key];
  if (known == nullptr) {
    known = std::make_shared<Instance>();
    const std::shared_ptr<Instance> made = known;
    KW_TRY_VOID(make_instance(function, bindings, passed, self != nullptr, self_type, beside, *made, token));
  }
  --translated_depth_;
  const std::shared_ptr<Instance> instance = instances_[key];
  if (instance->result == nullptr) return refuse("a recursive function without a written result", token);
  std::string list = beside == nullptr ? "rt" : "";
  if (self != nullptr) list += (list.empty() ? "" : ", ") + *self;
  for (const Passed& one : passed) {
    if (one.closure == nullptr && one.function == nullptr) list += (list.empty() ? "" : ", ") + one.text;
  }
  return call_code(*instance, instance->name + "(" + list + ")", discard);
}

Result<LauncherTranslator::Code> LauncherTranslator::method(const Expr& expr, const Expr& callee, bool discard) {
  const Expr& owner = *callee.children[0];
  std::string self;
  const HostType* type = nullptr;
  if (callee.arrow) {
    KW_TRY(const Code pointer, translate(owner));
    if (pointer.type->kind != TypeKind::pointer) return fail("-> needs a pointer", callee.token);
    self = pointer.text + ".value";
    type = pointer.type->element->plain;
  } else {
    KW_TRY(const Code value, translate(owner));
    self = value.text;
    type = value.type->plain;
  }
  if (type->kind != TypeKind::structure || type->structure->syntax == nullptr) {
    return fail("a value of type " + type->name + " has no member functions", callee.token);
  }
  const std::vector<const Expr*> values(expr.children.begin() + 1, expr.children.end());
  for (const FunctionSyntax* function : type->structure->syntax->functions) {
    if (function->name != callee.text || !accepts(*function, values.size())) continue;
    if (function->generic.present) return refuse("a member template", callee.token);
    KW_TRY(std::vector<Argument> arguments, call_arguments(values));
    return call_instance(*function, struct_bindings_[type], std::move(arguments), &self, type, expr.token, discard);
  }
  return fail("`" + type->name + "` has no member function `" + std::string(callee.text) + "` for these arguments",
              callee.token);
}

}  // namespace kw
