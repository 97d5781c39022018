// Making values: declarations, T(...), T{...}, dim3, arrays, structs.

#include "kernel/source/host_interpreter.h"

namespace kw {
Result<HostValue> HostInterpreter::zero_value(const HostType* type, TokenIndex token) {
  const HostType* plain = type->plain;
  if (is_integer(*plain) || plain->kind == TypeKind::enumeration) return make_integer(plain, 0);
  if (is_floating(*plain) || is_small_float(*plain)) return make_real(plain, 0);
  switch (plain->kind) {
    case TypeKind::pointer:
    case TypeKind::null:
    case TypeKind::function:
      return make_null(plain);
    case TypeKind::stream:
      return HostValue{plain, StreamValue{true}};
    case TypeKind::structure:
    case TypeKind::array:
      return construct(plain, {}, true, token);
    default:
      return unknown("an empty value of type " + plain->name, token);
  }
}

// What a variable holds that is declared without a value: nothing, but for dim3 and default member initialisers.
Result<HostValue> HostInterpreter::default_value(const HostType* type, TokenIndex token) {
  const HostType* plain = type->plain;
  const StepGuard guard(*this, token);
  if (guard.error) return *guard.error;
  if (plain->kind == TypeKind::array) {
    if (plain->count == 0) return fail("an array without a size needs its values", token);
    if ((array_elements_left_ -= plain->count) < 0) return fail("the launcher's arrays are too large", token);
    KW_TRY(const HostValue element, default_value(plain->element, token));
    return HostValue{plain, HostValue::Aggregate(static_cast<std::size_t>(plain->count), element)};
  }
  if (program_.uses_torch && is_torch_type(*plain)) return construct_torch(plain, {}, false, token);
  if (plain->kind != TypeKind::structure) return HostValue{plain, Unset{}};
  if (plain->structure->is_dim3) return construct(plain, {}, false, token);
  if (plain->structure->syntax != nullptr) {
    for (const FunctionSyntax* function : plain->structure->syntax->functions) {
      if (function->result == nullptr && function->name == plain->structure->syntax->name && function->has_body) {
        return construct_struct(plain, {}, false, token);
      }
    }
  }
  HostValue::Aggregate parts;
  for (const FieldType& field : plain->structure->fields) {
    KW_TRY(HostValue part, default_value(field.type, token));
    if (field.initial != nullptr) {
      const auto& bindings = struct_bindings_[plain];
      KW_TRY(part, within(bindings, plain->structure->syntax->scope, [&] {
               frame().self_type = plain;
               return initial_value(field.type, *field.initial);
             }));
    }
    part.type = field.type;
    parts.push_back(std::move(part));
  }
  return HostValue{plain, std::move(parts)};
}

// T x = value;
Result<HostValue> HostInterpreter::initial_value(const HostType* type, const Expr& value) {
  if (value.kind == ExprKind::braces) return construct(type->plain, value.children, true, value.token);
  KW_TRY(const HostValue given, evaluate_set(value));
  KW_TRY_AT(HostValue result, convert(given, type, Conversion::implicit, types_), value.token);
  return result;
}

Result<HostValue> HostInterpreter::construct(const HostType* type, const std::vector<const Expr*>& values, bool braces,
                                             TokenIndex token) {
  const HostType* plain = type->plain;
  const StepGuard guard(*this, token);
  if (guard.error) return *guard.error;
  if (plain->kind == TypeKind::array) return construct_array(plain, values, token);
  if (program_.uses_torch && is_torch_type(*plain)) return construct_torch(plain, values, braces, token);
  if (plain->kind == TypeKind::structure) return construct_struct(plain, values, braces, token);
  if (values.empty()) return zero_value(plain, token);
  if (values.size() > 1) return fail("too many values for " + plain->name, token);
  if (values[0]->kind == ExprKind::braces) return construct(plain, values[0]->children, true, token);
  KW_TRY(const HostValue given, evaluate_set(*values[0]));
  if (given.type->kind == TypeKind::pointer && is_integer(*plain) && plain->kind != TypeKind::bool_) {
    return integer_of_pointer(given, plain, token);
  }
  KW_TRY_AT(HostValue result, convert(given, plain, braces ? Conversion::implicit : Conversion::cast, types_), token);
  return result;
}

Result<HostValue> HostInterpreter::construct_array(const HostType* type, const std::vector<const Expr*>& values,
                                                   TokenIndex token) {
  const std::int64_t count = type->count == 0 ? static_cast<std::int64_t>(values.size()) : type->count;
  if (static_cast<std::int64_t>(values.size()) > count) return fail("too many values for " + type->name, token);
  if (count == 0) return fail("an array needs at least one element", token);
  if ((array_elements_left_ -= count) < 0) return fail("the launcher's arrays are too large", token);
  HostValue::Aggregate elements;
  for (const Expr* value : values) {
    KW_TRY(HostValue element, initial_value(type->element, *value));
    element.type = type->element;
    elements.push_back(std::move(element));
  }
  if (static_cast<std::int64_t>(elements.size()) < count) {
    KW_TRY(HostValue zero, zero_value(type->element, token));
    zero.type = type->element;
    elements.resize(static_cast<std::size_t>(count), zero);
  }
  return HostValue{types_.array_of(type->element, count), std::move(elements)};
}

Result<HostValue> HostInterpreter::construct_struct(const HostType* type, const std::vector<const Expr*>& values,
                                                    bool braces, TokenIndex token) {
  const StructType& structure = *type->structure;
  if (values.size() == 1 && values[0]->kind != ExprKind::braces) {  // a copy
    const HostType* known = static_type(*values[0]);
    if (known == nullptr || known->plain == type) {
      KW_TRY(HostValue given, evaluate_set(*values[0]));
      if (given.type->plain == type) return given;
    }
  }
  if (structure.syntax != nullptr) {
    std::vector<const FunctionSyntax*> constructors;
    for (const FunctionSyntax* function : structure.syntax->functions) {
      if (function->result == nullptr && function->name == structure.syntax->name && function->has_body) {
        constructors.push_back(function);
      }
    }
    if (!constructors.empty()) {
      std::vector<CallArgument> arguments;
      for (const Expr* value : values) {
        KW_TRY(HostValue given, evaluate_set(*value));
        arguments.push_back({std::move(given), nullptr});
      }
      for (const FunctionSyntax* constructor : constructors) {
        std::size_t required = 0;
        for (const ParameterSyntax& parameter : constructor->parameters) required += parameter.initial == nullptr;
        if (arguments.size() < required || arguments.size() > constructor->parameters.size()) continue;
        return construct_with(*constructor, type, std::move(arguments), token);
      }
      return fail("`" + type->name + "` has no constructor for " + std::to_string(values.size()) + " values", token);
    }
  }
  if (values.size() > structure.fields.size()) return fail("too many values for " + type->name, token);
  if (!braces && !values.empty() && !structure.is_dim3) {
    return fail("`" + type->name + "` has no constructor", token, "use braces: " + structure.name + "{...}");
  }
  HostValue result;
  if (values.size() < structure.fields.size() && !structure.is_dim3) {
    KW_TRY(result, default_value(type, token));
  }
  HostValue::Aggregate parts;
  for (std::size_t i = 0; i < structure.fields.size(); ++i) {
    const FieldType& field = structure.fields[i];
    HostValue part;
    if (i < values.size()) {
      KW_TRY(part, initial_value(field.type, *values[i]));
    } else if (structure.is_dim3) {
      part = make_integer(field.type, 1);
    } else if (field.initial != nullptr) {
      part = result.parts()[i];
    } else {
      KW_TRY(part, zero_value(field.type, token));
    }
    part.type = field.type;
    parts.push_back(std::move(part));
  }
  return HostValue{type, std::move(parts)};
}

Result<HostValue> HostInterpreter::construct_with(const FunctionSyntax& constructor, const HostType* type,
                                                  std::vector<CallArgument> arguments, TokenIndex token) {
  if (constructor.generic.present) return unknown("a constructor template", token);
  if (constructor.body_error) return *constructor.body_error;
  HostValue::Aggregate parts;
  for (const FieldType& field : type->structure->fields) {
    KW_TRY(HostValue part,
           field.initial != nullptr ? initial_value(field.type, *field.initial) : default_value(field.type, token));
    part.type = field.type;
    parts.push_back(std::move(part));
  }
  KW_TRY(HostValue * self, new_cell(type, token));
  self->data = std::move(parts);
  const BoundArguments bindings = struct_bindings_[type];
  KW_TRY(const HostValue ignored, run_function(constructor, bindings, std::move(arguments), self, type, token));
  static_cast<void>(ignored);
  return *self;
}

Result<void> HostInterpreter::declare_variable(const VariableSyntax& variable) {
  using Initial = VariableSyntax::Initial;
  const TypeSyntax& syntax = *variable.type;
  if (variable.is_static && !variable.is_constexpr && !syntax.is_const) {
    return fail("`" + std::string(variable.name) + "` is static: it would keep its value between calls", variable.token,
                "make it constexpr or an ordinary variable");
  }
  const bool automatic = syntax.base == TypeSyntax::Base::automatic;
  if (is_reference(syntax)) {
    if (variable.values.size() != 1) return fail("a reference needs a variable", variable.token);
    if (is_variable(*variable.values[0])) {
      KW_TRY(HostValue * cell, locate(*variable.values[0]));
      frame().scopes.back().variables.emplace_back(variable.name, cell);
      return {};
    }
    if (!syntax.is_const && syntax.suffixes.back().kind == TypeSyntax::Suffix::Kind::lvalue_reference) {
      return fail("a reference needs a variable", variable.token);
    }
  }
  HostValue value;
  const HostType* type = nullptr;
  if (automatic) {
    if (variable.values.size() != 1) return fail("`auto` needs a value", variable.token);
    if (variable.values[0]->kind == ExprKind::braces) return unknown("auto with a list in braces", variable.token);
    KW_TRY(value, evaluate_set(*variable.values[0]));
    type = value.type->plain;
    if (syntax.is_const && syntax.suffixes.empty()) type = types_.with_const(type);
  } else {
    KW_TRY(type, resolve(syntax));
    if (type->kind == TypeKind::void_) return fail("a variable cannot be void", variable.token);
    switch (variable.initial) {
      case Initial::none: {
        if (type->is_const)
          return fail("the constant `" + std::string(variable.name) + "` has no value", variable.token);
        KW_TRY(value, default_value(type, variable.token));
        break;
      }
      case Initial::copy: {
        KW_TRY(value, initial_value(type, *variable.values[0]));
        break;
      }
      case Initial::parentheses:
      case Initial::braces: {
        KW_TRY(value, construct(type, variable.values, variable.initial == Initial::braces, variable.token));
        break;
      }
    }
    if (type->kind == TypeKind::array) type = value.type;
  }
  KW_TRY(HostValue * cell, declare(variable.name, type, variable.token));
  cell->data = std::move(value.data);
  return {};
}

}  // namespace kw
