// Making values: declarations, T(...), T{...}, dim3, arrays, structs.

#include "kernel/export/launcher_translator.h"

namespace kw {
Result<LauncherTranslator::Code> LauncherTranslator::initial_code(const HostType* type, const Expr& value) {
  if (value.kind == ExprKind::braces) return build(type->plain, value.children, true, value.token);
  KW_TRY(Code code, translate(value));
  return converted(std::move(code), type, Conversion::implicit, value.token);
}

Result<LauncherTranslator::Code> LauncherTranslator::zero_code(const HostType* type, TokenIndex token) {
  if (type->plain->kind == TypeKind::structure || type->plain->kind == TypeKind::array) {
    return build(type->plain, {}, true, token);
  }
  KW_TRY(const HostValue zero, zero_value(type, token));
  return code_of(zero);
}

Result<LauncherTranslator::Code> LauncherTranslator::field_default(const HostType* type, const FieldType& field,
                                                                   bool zero, TokenIndex token) {
  if (field.initial == nullptr) return zero ? zero_code(field.type, token) : default_code(field.type, token);
  const BoundArguments bindings = struct_bindings_[type];
  return within(bindings, type->structure->syntax->scope, [&] {
    frame().self_type = type;
    return initial_code(field.type, *field.initial);
  });
}

Result<LauncherTranslator::Code> LauncherTranslator::default_code(const HostType* type, TokenIndex token) {
  const HostType* bare = type->plain;
  const StepGuard guard(*this, token);
  if (guard.error) return *guard.error;
  if (bare->kind == TypeKind::array) {
    if (bare->count == 0) return fail("an array without a size needs its values", token);
    KW_TRY(const Code element, default_code(bare->element, token));
    return plain(bare, "Array(" + element.text + " for i in range(" + std::to_string(bare->count) + "))");
  }
  if (bare->kind != TypeKind::structure) return plain(bare, "None");
  if (bare->structure->is_dim3) return plain(bare, "dim3(1, 1, 1)");
  if (bare->structure->syntax != nullptr) {
    for (const FunctionSyntax* function : bare->structure->syntax->functions) {
      if (function->result == nullptr && function->name == bare->structure->syntax->name && function->has_body) {
        return build_struct(bare, {}, token);
      }
    }
  }
  std::string parts;
  for (const FieldType& field : bare->structure->fields) {
    KW_TRY(const Code part, field_default(bare, field, false, token));
    parts += (parts.empty() ? "" : ", ") + kept(part);
  }
  return plain(bare, record_class(*bare) + "(" + parts + ")");
}

Result<LauncherTranslator::Code> LauncherTranslator::build(const HostType* type, const std::vector<const Expr*>& values,
                                                           bool braces, TokenIndex token) {
  const HostType* bare = type->plain;
  const StepGuard guard(*this, token);
  if (guard.error) return *guard.error;
  if (bare->kind == TypeKind::array) return build_array(bare, values, token);
  if (bare->kind == TypeKind::structure) return build_struct(bare, values, token);
  if (values.empty()) return zero_code(bare, token);
  if (values.size() > 1) return fail("too many values for " + bare->name, token);
  if (values[0]->kind == ExprKind::braces) return build(bare, values[0]->children, true, token);
  KW_TRY(Code given, translate(*values[0]));
  if (given.type->kind == TypeKind::pointer && is_integer(*bare) && bare->kind != TypeKind::bool_) {
    if (bare->bytes != 8) return refuse("a cast from " + given.type->name + " to " + bare->name, token);
    reads_addresses_ = true;
    return plain(bare, "address(" + given.text + ")");
  }
  return converted(std::move(given), bare, braces ? Conversion::implicit : Conversion::cast, token);
}

Result<LauncherTranslator::Code> LauncherTranslator::build_array(const HostType* type,
                                                                 const std::vector<const Expr*>& values,
                                                                 TokenIndex token) {
  const std::int64_t count = type->count == 0 ? static_cast<std::int64_t>(values.size()) : type->count;
  if (static_cast<std::int64_t>(values.size()) > count) return fail("too many values for " + type->name, token);
  if (count == 0) return fail("an array needs at least one element", token);
  std::string parts;
  for (const Expr* value : values) {
    KW_TRY(Code part, initial_code(type->element, *value));
    if (part.function != nullptr) {
      KW_TRY(part.text, kernel_value(part, token));
    }
    parts += (parts.empty() ? "" : ", ") + kept(part);
  }
  const std::int64_t missing = count - static_cast<std::int64_t>(values.size());
  std::string text = "Array([" + parts + "])";
  if (missing > 0) {
    KW_TRY(const Code zero, zero_code(type->element, token));
    const std::string rest = "(" + zero.text + " for i in range(" + std::to_string(missing) + "))";
    text = parts.empty() ? "Array" + rest : "Array([" + parts + ", *" + rest + "])";
  }
  return plain(types_.array_of(type->element, count), std::move(text));
}

Result<LauncherTranslator::Code> LauncherTranslator::build_struct(const HostType* type,
                                                                  const std::vector<const Expr*>& values,
                                                                  TokenIndex token) {
  const StructType& structure = *type->structure;
  if (values.size() == 1 && values[0]->kind != ExprKind::braces) {  // a copy
    const HostType* known = static_type(*values[0]);
    if (known == nullptr || known->plain == type) {
      PythonBlock lines;
      PythonBlock* const outer = std::exchange(block_, &lines);
      Result<Code> given = translate(*values[0]);
      block_ = outer;
      if (!given.ok()) return given.error();
      if (given->type->plain == type) {
        block_->append(lines);
        return plain(type, kept(*given));
      }
    }
  }
  if (structure.syntax != nullptr) {
    std::vector<const FunctionSyntax*> constructors;
    for (const FunctionSyntax* function : structure.syntax->functions) {
      if (function->result == nullptr && function->name == structure.syntax->name && function->has_body) {
        constructors.push_back(function);
      }
    }
    for (const FunctionSyntax* constructor : constructors) {
      std::size_t required = 0;
      for (const ParameterSyntax& parameter : constructor->parameters) required += parameter.initial == nullptr;
      if (values.size() < required || values.size() > constructor->parameters.size()) continue;
      KW_TRY(std::vector<Argument> arguments, call_arguments(values));
      return build_with(*constructor, type, std::move(arguments), token);
    }
    if (!constructors.empty()) {
      return fail("`" + type->name + "` has no constructor for " + std::to_string(values.size()) + " values", token);
    }
  }
  if (values.size() > structure.fields.size()) return fail("too many values for " + type->name, token);
  std::string parts;
  for (std::size_t i = 0; i < structure.fields.size(); ++i) {
    const FieldType& field = structure.fields[i];
    Code part;
    if (i < values.size()) {
      KW_TRY(part, initial_code(field.type, *values[i]));
    } else if (structure.is_dim3) {
      part = plain(field.type, "1");
    } else {
      KW_TRY(part, field_default(type, field, true, token));
    }
    parts += (parts.empty() ? "" : ", ") + kept(part);
  }
  return plain(type, record_class(*type) + "(" + parts + ")");
}

Result<LauncherTranslator::Code> LauncherTranslator::build_with(const FunctionSyntax& constructor, const HostType* type,
                                                                std::vector<Argument> arguments, TokenIndex token) {
  if (constructor.generic.present) return refuse("a constructor template", token);
  std::string parts;
  for (const FieldType& field : type->structure->fields) {
    KW_TRY(const Code part, field_default(type, field, false, token));
    parts += (parts.empty() ? "" : ", ") + kept(part);
  }
  const std::string self = unique_name("made");
  emit(self + " = " + record_class(*type) + "(" + parts + ")");
  KW_TRY(const Code ignored,
         call_instance(constructor, struct_bindings_[type], std::move(arguments), &self, type, token, true));
  static_cast<void>(ignored);
  return plain(type, self);
}

// `T& a = b` and `const T& a = b`: another name for b. False when it must become a variable of its own.
Result<bool> LauncherTranslator::declare_reference(const VariableSyntax& variable) {
  const TypeSyntax& syntax = *variable.type;
  if (variable.values.size() != 1) return fail("a reference needs a variable", variable.token);
  const Expr& value = *variable.values[0];
  if (is_variable(value)) {
    const Result<Target> target = target_of(value);
    if (target.ok()) {
      if (target->cell != nullptr) {
        frame().scopes.back().variables.emplace_back(variable.name, target->cell);
        return true;
      }
      KW_TRY(HostValue * cell, declare(variable.name, target->type, variable.token));
      Place place;
      place.declared = variable.token;
      place.reference = true;
      place.owner = function_.get();
      const std::string name = unique_name(variable.name);
      if (target->type->kind == TypeKind::structure || target->type->kind == TypeKind::array) {
        place.text = name;
        emit(name + " = " + target->text);
      } else {
        KW_TRY(const std::string pointer, pointer_to_target(*target, variable.token));
        place.text = name + ".value";
        emit(name + " = " + pointer);
      }
      places_[cell] = std::move(place);
      return true;
    }
  }
  if (!syntax.is_const && syntax.suffixes.back().kind == TypeSyntax::Suffix::Kind::lvalue_reference) {
    return fail("a reference needs a variable", variable.token);
  }
  return false;
}

Result<void> LauncherTranslator::declare_translated(const VariableSyntax& variable) {
  using Initial = VariableSyntax::Initial;
  const TypeSyntax& syntax = *variable.type;
  if (variable.is_static && !variable.is_constexpr && !syntax.is_const) {
    return fail("`" + std::string(variable.name) + "` is static: it would keep its value between calls", variable.token,
                "make it constexpr or an ordinary variable");
  }
  if (variable.is_constexpr && boxed_.count(variable.token) == 0 && !is_reference(syntax)) {
    const std::size_t visible = frame().scopes.back().variables.size();
    if (declare_variable(variable).ok()) return {};  // the interpreter computes it
    frame().scopes.back().variables.resize(visible);
  }
  if (is_reference(syntax)) {
    KW_TRY(const bool done, declare_reference(variable));
    if (done) return {};
  }
  Code code;
  const HostType* type = nullptr;
  if (syntax.base == TypeSyntax::Base::automatic) {
    if (variable.values.size() != 1) return fail("`auto` needs a value", variable.token);
    if (variable.values[0]->kind == ExprKind::braces) return refuse("auto with a list in braces", variable.token);
    KW_TRY(code, translate(*variable.values[0]));
    type = code.type->plain;
    if (syntax.is_const && syntax.suffixes.empty()) type = types_.with_const(type);
  } else {
    KW_TRY(type, resolve(syntax));
    if (type->kind == TypeKind::void_) return fail("a variable cannot be void", variable.token);
    if (variable.initial == Initial::none) {
      KW_TRY(code, default_code(type, variable.token));
    } else if (variable.initial == Initial::copy) {
      KW_TRY(code, initial_code(type, *variable.values[0]));
    } else {
      KW_TRY(code, build(type, variable.values, variable.initial == Initial::braces, variable.token));
    }
    if (type->kind == TypeKind::array) type = code.type;
  }
  if (code.closure != nullptr) {
    KW_TRY(HostValue * cell, declare(variable.name, type, variable.token));
    closures_[cell] = code.closure;
    return {};
  }
  const bool is_constant =
      (type->is_const || variable.is_constexpr) && code.constant && boxed_.count(variable.token) == 0;
  if (is_constant) {  // its value stands wherever it is used
    KW_TRY(HostValue * cell, declare(variable.name, types_.with_const(type), variable.token));
    cell->data = code.constant->data;
    return {};
  }
  if (code.function != nullptr) {
    KW_TRY(code.text, kernel_value(code, variable.token));
  }
  std::string name;
  KW_TRY(HostValue * cell, declare_python(variable.name, type, variable.token, &name));
  const std::string value = kept(code);
  emit(name + " = " + (places_.at(cell).boxed ? "Array([" + value + "])" : value));
  return {};
}

}  // namespace kw
