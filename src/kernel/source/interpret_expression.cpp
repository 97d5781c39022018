// Expressions: dispatch, reading and finding variables, casts, sizeof, lambdas.

#include "kernel/source/host_interpreter.h"
#include "kernel/source/host_literal.h"

namespace kw {

Result<HostValue> HostInterpreter::evaluate(const Expr& expr) {
  const StepGuard guard(*this, expr.token);
  if (guard.error) return *guard.error;
  return evaluate_kind(expr);
}

Result<HostValue> HostInterpreter::evaluate_kind(const Expr& expr) {
  switch (expr.kind) {
    case ExprKind::number: {
      KW_TRY_AT(HostValue value, read_number(expr.text, types_), expr.token);
      return value;
    }
    case ExprKind::character: {
      KW_TRY_AT(HostValue value, read_character(expr.text, types_), expr.token);
      return value;
    }
    case ExprKind::boolean:
      return make_integer(types_.bool_type(), expr.text == "true");
    case ExprKind::null:
      return make_null(types_.basic(TypeKind::null));
    case ExprKind::string:
      return HostValue{types_.basic(TypeKind::string), expr.text};
    case ExprKind::name:
      return evaluate_name(expr);
    case ExprKind::unary:
      return evaluate_unary(expr);
    case ExprKind::postfix:
      return evaluate_step(expr);
    case ExprKind::binary:
      return evaluate_binary(expr);
    case ExprKind::ternary:
      return evaluate_ternary(expr);
    case ExprKind::call:
      return evaluate_call(expr);
    case ExprKind::launch:
      return evaluate_launch(expr);
    case ExprKind::member:
      return evaluate_member(expr);
    case ExprKind::cast:
      return evaluate_cast(expr);
    case ExprKind::sizeof_type:
    case ExprKind::sizeof_value:
    case ExprKind::alignof_type:
      return evaluate_sizeof(expr);
    case ExprKind::lambda:
      return evaluate_lambda(expr);
    case ExprKind::construct: {
      KW_TRY(const HostType* type, resolve(*expr.type));
      return construct(type, expr.children, expr.braces, expr.token);
    }
    case ExprKind::subscript: {
      if (program_.uses_torch) return evaluate_element(expr);
      KW_TRY(HostValue * cell, locate(expr));
      return read(*cell, expr);
    }
    case ExprKind::assign: {
      KW_TRY(HostValue * cell, evaluate_assign(expr));
      return read(*cell, expr);
    }
    case ExprKind::this_: {
      if (frame().self == nullptr) return fail("`this` outside of a member function", expr.token);
      return HostValue{types_.pointer_to(frame().self->type), HostPointer{frame().self, -1}};
    }
    case ExprKind::braces:
      return unknown("a list in braces without a type", expr.token);
    case ExprKind::error:
    case ExprKind::unsupported:
      break;
  }
  return unknown(describe(expr), expr.token);
}

Result<HostValue> HostInterpreter::evaluate_set(const Expr& expr) {
  KW_TRY(HostValue value, evaluate(expr));
  if (!value.is_set()) return fail("a value is used before it is set", expr.token);
  return value;
}

Result<bool> HostInterpreter::condition(const Expr& expr) {
  KW_TRY(const HostValue value, evaluate(expr));
  KW_TRY_AT(const bool result, truth(value), expr.token);
  return result;
}

// The value of a variable; an array becomes a pointer to its first element.
Result<HostValue> HostInterpreter::read(HostValue& cell, const Expr& expr) {
  if (cell.type->kind == TypeKind::array) {
    return HostValue{types_.pointer_to(cell.type->element), HostPointer{&cell, 0}};
  }
  if (const auto* unset = std::get_if<Unset>(&cell.data)) {
    const std::string what = expr.kind == ExprKind::name ? describe(expr) : "a variable";
    for (const auto& [global, known] : globals_) {
      if (known == &cell && !global->is_constant) return unset_global(std::string(global->variable.name), expr.token);
    }
    if (unset->ended) return fail(what + " is used after its scope has ended", expr.token);
    return fail(what + " is used before it has a value", expr.token);
  }
  steps_left_ -= static_cast<std::int64_t>(cell.type->bytes / 4);  // copying a struct has its price
  if (cell.type->kind == TypeKind::list) steps_left_ -= static_cast<std::int64_t>(cell.parts().size());
  HostValue value = cell;
  value.type = cell.type->plain;
  return value;
}

bool HostInterpreter::is_variable(const Expr& expr) {
  switch (expr.kind) {
    case ExprKind::name: {
      if (expr.name.parts.size() == 1 && find_variable(expr.name.parts[0].name) != nullptr) return true;
      const Declared* declared = expr.name.parts.size() == 1 ? find_declared(expr.name) : nullptr;
      const GlobalVariable* global = declared == nullptr ? nullptr : declared->variable;
      return global != nullptr && !global->is_constant && !global->is_device && !global->generic.present &&
             globals_.contains(global);
    }
    case ExprKind::subscript: {
      const HostType* type = static_type(*expr.children[0]);
      return type != nullptr && type->kind == TypeKind::array;
    }
    case ExprKind::member:
      return expr.arrow || (is_variable(*expr.children[0]) && !member_constant(expr));
    case ExprKind::assign:
      return !is_list_element(*expr.children[0]);
    case ExprKind::unary: {
      if (expr.text != "*") return expr.text == "++" || expr.text == "--";
      const HostType* type = program_.uses_torch ? static_type(*expr.children[0]) : nullptr;
      return type == nullptr || type->kind != TypeKind::optional;
    }
    default:
      return false;
  }
}

Result<HostValue*> HostInterpreter::locate(const Expr& expr) {
  const StepGuard guard(*this, expr.token);
  if (guard.error) return *guard.error;
  switch (expr.kind) {
    case ExprKind::name: {
      if (expr.name.parts.size() == 1) {
        if (HostValue* cell = find_variable(expr.name.parts[0].name)) return cell;
      }
      const Declared* declared = find_declared(expr.name);
      if (declared != nullptr && declared->variable != nullptr) return global_constant(*declared->variable, expr);
      return fail(describe(expr) + " is not a variable", expr.token);
    }
    case ExprKind::assign:
      // A list may grow and move: nothing may keep the place of an element.
      if (is_list_element(*expr.children[0])) break;
      return evaluate_assign(expr);
    case ExprKind::member:
      return locate_member(expr);
    case ExprKind::unary: {
      if (expr.text == "*") {
        KW_TRY(const HostValue pointer, evaluate_set(*expr.children[0]));
        return locate_target(pointer, expr);
      }
      if (expr.text == "++" || expr.text == "--") {
        KW_TRY(const HostValue ignored, evaluate_step(expr));
        static_cast<void>(ignored);
        return locate(*expr.children[0]);
      }
      break;
    }
    case ExprKind::subscript: {
      KW_TRY(const HostValue array, evaluate_set(*expr.children[0]));
      KW_TRY(const HostValue index, evaluate_set(*expr.children[1]));
      if (array.is_device_pointer()) return locate_target(array, expr);
      KW_TRY_AT(const HostValue pointer, apply_binary("+", array, index, types_), expr.token);
      return locate_target(pointer, expr);
    }
    default:
      break;
  }
  return fail(describe(expr) + " is not a variable", expr.token);
}

// What a pointer points at.
Result<HostValue*> HostInterpreter::locate_target(const HostValue& pointer, const Expr& expr) {
  if (pointer.is_device_pointer()) {
    if (pointer.device_pointer().buffer == DevicePointer::null_buffer)
      return fail("a null pointer is followed", expr.token);
    return fail("the launcher reads or writes device memory on the host", expr.token,
                "host code cannot touch it; do this in a kernel");
  }
  if (!pointer.is_host_pointer())
    return fail("a value of type " + pointer.type->name + " is not a pointer", expr.token);
  const HostPointer& where = pointer.host_pointer();
  KW_CHECK(where.target != nullptr);
  if (where.index < 0) return where.target;
  if (!where.target->is_aggregate()) return fail("an array is used after its scope has ended", expr.token);
  HostValue::Aggregate& elements = where.target->parts();
  if (where.index >= static_cast<std::int64_t>(elements.size())) {
    return fail("element " + std::to_string(where.index) + " of an array of " + std::to_string(elements.size()),
                expr.token);
  }
  return &elements[static_cast<std::size_t>(where.index)];
}

Result<HostValue*> HostInterpreter::locate_member(const Expr& expr) {
  HostValue* owner = nullptr;
  if (expr.arrow) {
    KW_TRY(const HostValue pointer, evaluate_set(*expr.children[0]));
    KW_TRY(owner, locate_target(pointer, expr));
  } else {
    KW_TRY(owner, locate(*expr.children[0]));
  }
  if (owner->type->kind != TypeKind::structure) {
    return fail("a value of type " + owner->type->name + " has no member `" + std::string(expr.text) + "`", expr.token);
  }
  const std::vector<FieldType>& fields = owner->type->structure->fields;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].name != expr.text) continue;
    if (!owner->is_aggregate()) return fail("a struct is used before it has a value", expr.token);
    return &owner->parts()[i];
  }
  return fail("`" + owner->type->name + "` has no member `" + std::string(expr.text) + "`", expr.token);
}

Result<HostValue> HostInterpreter::evaluate_member(const Expr& expr) {
  if (const auto constant = member_constant(expr)) return *constant;
  if (expr.arrow || is_variable(*expr.children[0])) {
    KW_TRY(HostValue * cell, locate_member(expr));
    return read(*cell, expr);
  }
  KW_TRY(HostValue owner, evaluate_set(*expr.children[0]));
  if (owner.type->kind == TypeKind::structure && owner.is_aggregate()) {
    const std::vector<FieldType>& fields = owner.type->structure->fields;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (fields[i].name == expr.text) return owner.parts()[i];
    }
    Result<HostValue> constant = struct_constant(*owner.type, expr.text, expr.token);
    if (constant.ok()) return constant;
  }
  return fail("a value of type " + owner.type->name + " has no member `" + std::string(expr.text) + "`", expr.token);
}

// Buffers stand 2^40 bytes apart, so that the low bits tell the alignment: allocations are aligned to 256 bytes at
// least.
Result<HostValue> HostInterpreter::integer_of_pointer(const HostValue& value, const HostType* type, TokenIndex token) {
  if (!value.is_device_pointer() || type->bytes != 8) {
    return unknown("a cast from " + value.type->name + " to " + type->name, token);
  }
  const DevicePointer& pointer = value.device_pointer();
  return make_integer(type, (std::int64_t{pointer.buffer} + 1) * (std::int64_t{1} << 40) + pointer.offset_bytes);
}

Result<HostValue> HostInterpreter::evaluate_cast(const Expr& expr) {
  KW_TRY(const HostType* type, resolve(*expr.type));
  if (type->kind == TypeKind::void_) {
    KW_TRY(const HostValue ignored, evaluate(*expr.children[0]));
    static_cast<void>(ignored);
    return HostValue{type, std::int64_t{0}};
  }
  KW_TRY(HostValue value, evaluate_set(*expr.children[0]));
  const HostType& from = *value.type;
  const bool pointers = from.kind == TypeKind::pointer && type->kind == TypeKind::pointer;
  if (expr.text != "(T)" && expr.text != "const_cast" && pointers && from.element->is_const &&
      !type->element->is_const) {
    return fail(std::string(expr.text) + " cannot take away const: " + from.name + " to " + type->name, expr.token,
                "keep the pointer const");
  }
  if (expr.text == "static_cast" && pointers && from.element->plain != type->element->plain &&
      from.element->kind != TypeKind::void_ && type->element->kind != TypeKind::void_) {
    return fail("static_cast cannot turn " + from.name + " into " + type->name, expr.token, "use reinterpret_cast");
  }
  if (expr.text == "reinterpret_cast" && is_arithmetic(from) && type->kind != TypeKind::pointer) {
    return fail("reinterpret_cast cannot turn " + from.name + " into " + type->name, expr.token, "use static_cast");
  }
  if (from.kind == TypeKind::pointer && is_integer(*type) && type->kind != TypeKind::bool_) {
    return integer_of_pointer(value, type->plain, expr.token);
  }
  if (type->kind == TypeKind::structure && from.plain != type->plain) {
    return construct(type, expr.children, false, expr.token);
  }
  KW_TRY_AT(HostValue result, convert(value, type, Conversion::cast, types_), expr.token);
  return result;
}

Result<HostValue> HostInterpreter::evaluate_sizeof(const Expr& expr) {
  const HostType* type = nullptr;
  if (expr.kind == ExprKind::sizeof_value) {
    type = static_type(*expr.children[0]);
    if (type == nullptr) return unknown("sizeof of this expression", expr.token, "use sizeof with a type");
  } else {
    KW_TRY(type, resolve(*expr.type));
  }
  if (type->kind == TypeKind::void_ || type->kind == TypeKind::function ||
      (type->kind == TypeKind::array && type->count == 0)) {
    return fail("sizeof of " + type->name, expr.token);
  }
  const std::uint64_t size = expr.kind == ExprKind::alignof_type ? type->alignment : type->bytes;
  return make_integer(types_.size_type(), static_cast<std::int64_t>(size));
}

Result<HostValue> HostInterpreter::evaluate_lambda(const Expr& expr) {
  const LambdaSyntax& syntax = *expr.lambda;
  auto closure = std::make_shared<Closure>();
  closure->syntax = &syntax;
  closure->bindings = frame().bindings;
  closure->scope = frame().scope;
  closure->self = frame().self;
  const auto capture = [&](std::string_view name, HostValue* cell, bool by_reference) -> Result<void> {
    steps_left_ -= 1 + static_cast<std::int64_t>(by_reference ? 0 : cell->type->bytes / 4);
    if (steps_left_ < 0) return fail("the launcher does not end within its budget of steps", expr.token);
    if (!by_reference) {
      KW_TRY(HostValue * copy, new_cell(cell->type, expr.token));
      *copy = *cell;
      cell = copy;
    }
    closure->captured.emplace_back(name, cell);
    return {};
  };
  for (const Scope& scope : frame().scopes) {
    closure->types.insert(closure->types.end(), scope.types.begin(), scope.types.end());
    for (const auto& [name, cell] : scope.variables) {
      bool wanted = syntax.capture_default != 0, by_reference = syntax.capture_default == '&';
      for (const auto& [captured, reference] : syntax.captures) {
        if (captured != name) continue;
        wanted = true;
        by_reference = reference;
      }
      // Constants need no capture.
      if (!wanted && cell->type->is_const && cell->is_set()) wanted = true;
      if (wanted) KW_TRY_VOID(capture(name, cell, by_reference));
    }
  }
  return HostValue{types_.basic(TypeKind::closure), std::shared_ptr<const Closure>(std::move(closure))};
}

}  // namespace kw
