// From the types that are written to the types that are meant.

#include "kernel/source/host_interpreter.h"

namespace kw {

Result<const HostType*> HostInterpreter::resolve(const TypeSyntax& type) {
  const StepGuard guard(*this, type.token);
  if (guard.error) return *guard.error;
  KW_TRY(const HostType* result, resolve_base(type));
  if (type.is_const) result = types_.with_const(result);
  if (type.is_pack) return unknown("a parameter pack", type.token);
  using Kind = TypeSyntax::Suffix::Kind;
  for (const TypeSyntax::Suffix& suffix : type.suffixes) {
    switch (suffix.kind) {
      case Kind::pointer:
        result = types_.pointer_to(result);
        break;
      case Kind::lvalue_reference:
      case Kind::rvalue_reference:
        break;  // who declares looks at the suffix
      case Kind::function_pointer:
        result = types_.basic(TypeKind::function);
        break;
      case Kind::array: {
        if (suffix.count == nullptr) {
          result = types_.array_of(result, 0);  // the initialiser decides
          break;
        }
        KW_TRY(const HostValue count, evaluate_set(*suffix.count));
        if (!count.is_integer_value() || count.integer() < 1 || count.integer() > limits_.max_array_elements) {
          return fail("an array needs a size from 1 to " + std::to_string(limits_.max_array_elements),
                      suffix.count->token);
        }
        result = types_.array_of(result, count.integer());
        if (result->bytes > (std::uint64_t{1} << 30)) return fail("an array is too large", suffix.count->token);
        break;
      }
    }
    if (suffix.is_const) result = types_.with_const(result);
  }
  return result;
}

Result<const HostType*> HostInterpreter::resolve_base(const TypeSyntax& type) {
  switch (type.base) {
    case TypeSyntax::Base::builtin:
      return types_.basic(type.builtin);
    case TypeSyntax::Base::automatic:
      return fail("`auto` cannot stand here", type.token);
    case TypeSyntax::Base::type_of: {
      if (const HostType* known = static_type(*type.operand)) return known->plain;
      return unknown("decltype of this expression", type.token);
    }
    case TypeSyntax::Base::name:
      return resolve_name(type.name, type.name.parts.size(), type.token);
  }
  return unknown("this type", type.token);
}

// The type that the first `parts` parts of a name stand for.
Result<const HostType*> HostInterpreter::resolve_name(const Name& name, std::size_t parts, TokenIndex token) {
  if (parts == 0 || parts > name.parts.size()) return unknown("this type", token);
  const StepGuard guard(*this, token);
  if (guard.error) return *guard.error;
  const NamePart& last = name.parts[parts - 1];
  if (parts == 1) {
    for (auto scope = frame().scopes.rbegin(); scope != frame().scopes.rend(); ++scope) {
      for (const auto& [local, type] : scope->types) {
        if (local == last.name) return type;
      }
    }
    if (const BoundArgument* binding = find_binding(last.name); binding != nullptr && binding->type != nullptr) {
      return binding->type;
    }
  }
  std::string text = name.global ? "::" : "";
  for (std::size_t i = 0; i < parts; ++i) text += (i > 0 ? "::" : "") + std::string(name.parts[i].name);
  KW_TRY(const HostType* standard_type, trait_type(name, parts, token));
  if (standard_type != nullptr) return standard_type;
  if (const Declared* declared = index_.find(frame().scope, text)) {
    if (!declared->structs.empty()) return struct_type(declared->structs, last.arguments, token);
    if (declared->enumeration != nullptr) return enum_type(*declared->enumeration);
    if (declared->alias != nullptr) {
      const AliasSyntax& alias = *declared->alias;
      BoundArguments bindings;
      if (alias.generic.present) {
        KW_TRY(const BoundArguments given, evaluate_arguments(last.arguments));
        KW_TRY(bindings, bind_parameters_of(alias.generic, given, alias.name, token));
      }
      return within(std::move(bindings), alias.scope, [&] { return resolve(*alias.type); });
    }
  }
  if (parts > 1) {  // an alias or an enum inside a struct
    const Result<const HostType*> owner = resolve_name(name, parts - 1, token);
    if (owner.ok() && (*owner)->kind == TypeKind::structure && (*owner)->structure->syntax != nullptr) {
      const StructSyntax& structure = *(*owner)->structure->syntax;
      for (const AliasSyntax* alias : structure.aliases) {
        if (alias->name != last.name) continue;
        return within(struct_bindings_[(*owner)->plain], structure.scope, [&] { return resolve(*alias->type); });
      }
      for (const EnumSyntax* enumeration : structure.enums) {
        if (enumeration->name == last.name) return enum_type(*enumeration);
      }
    }
  } else if (frame().self_type != nullptr && frame().self_type->structure->syntax != nullptr) {
    for (const AliasSyntax* alias : frame().self_type->structure->syntax->aliases) {
      if (alias->name == last.name) return resolve(*alias->type);
    }
    if (frame().self_type->structure->syntax->name == last.name) return frame().self_type;
  }
  if (program_.uses_torch) {
    KW_TRY(const HostType* type, torch_type(name, parts, token));
    if (type != nullptr) return type;
  }
  const bool standard = parts == 1 || name.parts[0].name == "std" || name.parts[0].name == "cuda";
  if (const HostType* type = types_.named(last.name); type != nullptr && standard) return type;
  if (const auto error = unread_declaration(last.name)) return *error;
  return unknown("the type `" + text + "`", token);
}

Result<const HostType*> HostInterpreter::enum_type(const EnumSyntax& enumeration) {
  if (const auto found = enums_.find(&enumeration); found != enums_.end()) return found->second;
  EnumType type;
  type.name = enumeration.name.empty()    ? "enum"
              : enumeration.scope.empty() ? std::string(enumeration.name)
                                          : enumeration.scope + "::" + std::string(enumeration.name);
  type.syntax = &enumeration;
  type.scoped = enumeration.scoped;
  // Without a type of its own gcc takes unsigned int unless a value is negative; values here are small either way.
  type.underlying = types_.basic(enumeration.scoped ? TypeKind::int_ : TypeKind::uint);
  if (enumeration.underlying != nullptr) {
    KW_TRY(const HostType* underlying, resolve(*enumeration.underlying));
    if (!is_integer(*underlying)) return fail("an enum's type must be a whole number", enumeration.token);
    type.underlying = underlying->plain;
    type.fixed = true;
  } else if (!enumeration.scoped) {
    for (const auto& [name, value] : enumeration.enumerators) {
      if (value != nullptr && value->kind == ExprKind::unary && value->text == "-") {
        type.underlying = types_.basic(TypeKind::int_);
      }
    }
  }
  return enums_[&enumeration] = types_.make_enum(std::move(type));
}

Result<const HostType*> HostInterpreter::struct_type(const std::vector<const StructSyntax*>& candidates,
                                                     const std::vector<TemplateArgument>& arguments, TokenIndex token) {
  const StructSyntax* chosen = nullptr;
  for (const StructSyntax* candidate : candidates) {
    if (!candidate->is_specialisation) chosen = candidate;
  }
  if (chosen == nullptr) return unknown("a specialisation without its template", token);
  std::string name =
      chosen->scope.empty() ? std::string(chosen->name) : chosen->scope + "::" + std::string(chosen->name);
  BoundArguments bindings;
  if (chosen->generic.present) {
    // Inside a struct template its own name means the present instance.
    if (arguments.empty() && frame().self_type != nullptr && frame().self_type->structure->syntax != nullptr &&
        frame().self_type->structure->syntax->name == chosen->name) {
      return frame().self_type;
    }
    KW_TRY(const BoundArguments given, evaluate_arguments(arguments));
    KW_TRY(bindings, bind_parameters_of(chosen->generic, given, chosen->name, token));
    name += "<" + print_arguments(bindings) + ">";
    if (name.size() > 4096) return fail("the name of a type grows too long", token);
    for (const StructSyntax* candidate : candidates) {
      if (!candidate->is_specialisation) continue;
      if (!candidate->generic.parameters.empty()) return unknown("a partial specialisation", candidate->token);
      KW_TRY(const BoundArguments special,
             within({}, candidate->scope, [&] { return evaluate_arguments(candidate->specialised); }));
      if (same_arguments(special, bindings)) {
        chosen = candidate;
        bindings.clear();
        break;
      }
    }
  }
  if (const auto found = structs_.find(name); found != structs_.end()) return found->second;
  if (!in_progress_.insert(chosen).second && bindings.empty()) return fail("a struct contains itself", token);
  Result<const HostType*> result = lay_out(*chosen, name, bindings);
  in_progress_.erase(chosen);
  if (result.ok()) {
    structs_[name] = *result;
    struct_bindings_[*result] = std::move(bindings);
  }
  return result;
}

Result<const HostType*> HostInterpreter::lay_out(const StructSyntax& structure, std::string name,
                                                 BoundArguments bindings) {
  if (structure.is_union) return unknown("a union", structure.token);
  if (structure.has_base) return unknown("a struct with a base", structure.token);
  if (structure.has_virtual) return unknown("a virtual function", structure.token);
  if (!structure.unknown.empty()) return unknown(std::string(structure.unknown), structure.token);
  StructType type;
  type.name = std::move(name);
  type.syntax = &structure;
  const Result<void> done = within(std::move(bindings), structure.scope, [&]() -> Result<void> {
    for (const AliasSyntax* alias : structure.aliases) {
      Result<const HostType*> target = resolve(*alias->type);
      if (target.ok()) frame().scopes.back().types.emplace_back(alias->name, *target);
    }
    for (const EnumSyntax* enumeration : structure.enums) {
      KW_TRY(const HostType* local, enum_type(*enumeration));
      if (!enumeration->name.empty()) frame().scopes.back().types.emplace_back(enumeration->name, local);
    }
    // `T payload[size]` uses a constant of the struct. One that needs the whole struct is left for later.
    for (const VariableSyntax& constant : structure.constants) {
      if (constant.is_constexpr || constant.type->is_const) static_cast<void>(declare_variable(constant));
    }
    for (const VariableSyntax& field : structure.fields) {
      for (const TypeSyntax::Suffix& suffix : field.type->suffixes) {
        if (suffix.kind == TypeSyntax::Suffix::Kind::lvalue_reference)
          return unknown("a reference in a struct", field.token);
      }
      KW_TRY(const HostType* field_type, resolve(*field.type));
      if (field_type->bytes > (std::uint64_t{1} << 20)) return fail("a struct is too large", field.token);
      type.fields.push_back(
          {std::string(field.name), field_type, 0, field.values.empty() ? nullptr : field.values[0], field.initial});
    }
    return {};
  });
  if (!done.ok()) return done.error();
  return types_.make_struct(std::move(type), structure.alignment);
}

}  // namespace kw
