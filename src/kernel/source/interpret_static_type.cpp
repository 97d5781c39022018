// The type of an expression without its value: for sizeof, decltype, and the branch of ?: that is not taken.

#include "kernel/source/host_interpreter.h"
#include "kernel/source/host_literal.h"

namespace kw {

const HostType* HostInterpreter::static_type(const Expr& expr) {
  const StepGuard guard(*this, expr.token);
  if (guard.error) return nullptr;
  const auto value_or_null = [](const Result<const HostType*>& type) { return type.ok() ? *type : nullptr; };
  const auto child = [&](std::size_t i) { return static_type(*expr.children[i]); };
  switch (expr.kind) {
    case ExprKind::number: {
      const Result<HostValue> value = read_number(expr.text, types_);
      return value.ok() ? value->type : nullptr;
    }
    case ExprKind::character:
      return types_.basic(TypeKind::char_);
    case ExprKind::boolean:
      return types_.bool_type();
    case ExprKind::null:
      return types_.basic(TypeKind::null);
    case ExprKind::name: {
      if (expr.name.parts.size() == 1) {
        if (const HostValue* cell = find_variable(expr.name.parts[0].name)) return cell->type;
      }
      const Result<HostValue> value = evaluate_name(expr);  // a constant: nothing can happen
      return value.ok() ? value->type : nullptr;
    }
    case ExprKind::unary: {
      const HostType* operand = child(0);
      if (operand == nullptr) return nullptr;
      if (expr.text == "!") return types_.bool_type();
      if (expr.text == "&") return types_.pointer_to(operand);
      if (expr.text == "*") return operand->element;
      if (expr.text == "++" || expr.text == "--") return operand;
      return promoted(*operand, types_);
    }
    case ExprKind::postfix:
      return child(0);
    case ExprKind::binary:
      return static_binary_type(expr);
    case ExprKind::assign:
      return child(0);
    case ExprKind::ternary: {
      const HostType* a = child(1);
      const HostType* b = child(2);
      if (a == nullptr || b == nullptr) return nullptr;
      if (a->plain == b->plain) return a->plain;
      return common_type(*a, *b, types_);
    }
    case ExprKind::cast:
    case ExprKind::construct:
      return value_or_null(resolve(*expr.type));
    case ExprKind::subscript: {
      const HostType* array = child(0);
      return array == nullptr ? nullptr : array->element;
    }
    case ExprKind::member: {
      const HostType* owner = child(0);
      if (owner != nullptr && expr.arrow) owner = owner->element;
      if (owner == nullptr || owner->kind != TypeKind::structure) return nullptr;
      for (const FieldType& field : owner->structure->fields) {
        if (field.name == expr.text) return field.type;
      }
      return nullptr;
    }
    case ExprKind::sizeof_type:
    case ExprKind::sizeof_value:
    case ExprKind::alignof_type:
      return types_.size_type();
    case ExprKind::call:
      return static_call_type(expr);
    default:
      return nullptr;
  }
}

const HostType* HostInterpreter::static_binary_type(const Expr& expr) {
  const HostType* a = static_type(*expr.children[0]);
  const HostType* b = static_type(*expr.children[1]);
  if (a == nullptr || b == nullptr) return nullptr;
  if (a->kind == TypeKind::array) a = types_.pointer_to(a->element);
  return binary_result_type(expr.text, *a, *b, types_);
}

const HostType* HostInterpreter::static_call_type(const Expr& expr) {
  const Expr& callee = *expr.children[0];
  if (callee.kind != ExprKind::name) return nullptr;
  const NamePart& last = callee.name.parts.back();
  const Declared* declared = find_declared(callee.name);
  if (declared != nullptr && declared->functions.size() == 1) {
    const FunctionSyntax& function = *declared->functions[0];
    if (function.generic.present || function.result == nullptr) return nullptr;
    const Result<const HostType*> type = within({}, function.scope, [&] { return resolve(*function.result); });
    return type.ok() ? *type : nullptr;
  }
  if ((last.name == "min" || last.name == "max") && expr.children.size() == 3 && !last.has_arguments) {
    const HostType* a = static_type(*expr.children[1]);
    const HostType* b = static_type(*expr.children[2]);
    return a == nullptr || b == nullptr ? nullptr : a->plain == b->plain ? a->plain : common_type(*a, *b, types_);
  }
  return nullptr;
}

}  // namespace kw
