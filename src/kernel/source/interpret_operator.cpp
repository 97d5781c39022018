// Operators that need more than values: assignment, ++, &, short circuits, ?:.

#include "kernel/source/host_interpreter.h"

namespace kw {

Result<HostValue> HostInterpreter::evaluate_unary(const Expr& expr) {
  const Expr& operand = *expr.children[0];
  if (expr.text == "++" || expr.text == "--") return evaluate_step(expr);
  if (expr.text == "*") {
    KW_TRY(HostValue value, evaluate_set(operand));
    if (value.type->kind == TypeKind::function) return value;  // *kernel is the kernel
    if (value.type->kind == TypeKind::optional) return optional_value(value, expr.token);
    KW_TRY(HostValue * cell, locate_target(value, expr));
    return read(*cell, expr);
  }
  if (expr.text == "&") {
    if (is_variable(operand)) {
      if (operand.kind == ExprKind::subscript) {  // &array[i] can be moved on
        KW_TRY(const HostValue array, evaluate_set(*operand.children[0]));
        KW_TRY(const HostValue index, evaluate_set(*operand.children[1]));
        KW_TRY_AT(HostValue pointer, apply_binary("+", array, index, types_), expr.token);
        return pointer;
      }
      KW_TRY(HostValue * cell, locate(operand));
      return HostValue{types_.pointer_to(cell->type), HostPointer{cell, -1}};
    }
    if (operand.kind == ExprKind::subscript) {  // &x[n] of a device pointer is arithmetic
      KW_TRY(const HostValue pointer, evaluate_set(*operand.children[0]));
      KW_TRY(const HostValue index, evaluate_set(*operand.children[1]));
      KW_TRY_AT(HostValue moved, apply_binary("+", pointer, index, types_), expr.token);
      return moved;
    }
    KW_TRY(HostValue value, evaluate_set(operand));
    if (value.type->kind == TypeKind::function) return value;
    KW_TRY(HostValue * cell, locate(operand));
    return HostValue{types_.pointer_to(cell->type), HostPointer{cell, -1}};
  }
  KW_TRY(const HostValue value, evaluate_set(operand));
  KW_TRY_AT(HostValue result, apply_unary(expr.text, value, types_), expr.token);
  return result;
}

Result<HostValue> HostInterpreter::evaluate_binary(const Expr& expr) {
  const Expr& left = *expr.children[0];
  const Expr& right = *expr.children[1];
  if (expr.text == "&&" || expr.text == "||") {
    KW_TRY(const bool first, condition(left));
    if (first == (expr.text == "||")) return make_integer(types_.bool_type(), first);
    KW_TRY(const bool second, condition(right));
    return make_integer(types_.bool_type(), second);
  }
  if (expr.text == ",") {
    KW_TRY(const HostValue ignored, evaluate(left));
    static_cast<void>(ignored);
    return evaluate(right);
  }
  KW_TRY(const HostValue a, evaluate_set(left));
  KW_TRY(const HostValue b, evaluate_set(right));
  if (a.type->kind == TypeKind::tensor || b.type->kind == TypeKind::tensor) {
    return computes("the operator " + std::string(expr.text) + " on tensors", expr.token);
  }
  if (a.type->kind == TypeKind::list && b.type->kind == TypeKind::list) return compare_lists(a, b, expr);
  KW_TRY_AT(HostValue result, apply_binary(expr.text, a, b, types_), expr.token);
  return result;
}

Result<HostValue> HostInterpreter::evaluate_ternary(const Expr& expr) {
  KW_TRY(const bool chosen, condition(*expr.children[0]));
  KW_TRY(HostValue value, evaluate(*expr.children[chosen ? 1 : 2]));
  // Both branches decide the type: `n > 4 ? 1 : 2.5` is a double.
  const HostType* other = static_type(*expr.children[chosen ? 2 : 1]);
  if (other == nullptr || other->plain == value.type->plain) return value;
  const HostType* type = common_type(*value.type, *other, types_);
  if (type == nullptr && other->kind == TypeKind::pointer && value.type->kind == TypeKind::null) type = other->plain;
  if (type == nullptr && other->kind == TypeKind::pointer && value.type->kind == TypeKind::pointer) {
    const bool widen = conversion_rank(*value.type, *other) >= 0;
    type = widen ? other->plain : value.type->plain;
  }
  if (type == nullptr) return value;
  KW_TRY_AT(HostValue result, convert(value, type, Conversion::implicit, types_), expr.token);
  return result;
}

Result<void> HostInterpreter::store(HostValue& cell, const HostValue& value, TokenIndex token) {
  if (cell.type->is_const) return fail("a constant is assigned to", token);
  if (cell.type->kind == TypeKind::array) return fail("an array cannot be assigned", token);
  KW_TRY_AT(const HostValue converted, convert(value, cell.type, Conversion::implicit, types_), token);
  assign(cell, converted);
  return {};
}

Result<HostValue*> HostInterpreter::evaluate_assign(const Expr& expr) {
  const Expr& source = *expr.children[1];
  if (expr.text == "=") {
    if (source.kind == ExprKind::braces) {
      KW_TRY(HostValue * cell, locate_to_store(*expr.children[0]));
      KW_TRY(const HostValue value, construct(cell->type->plain, source.children, true, source.token));
      KW_TRY_VOID(store(*cell, value, expr.token));
      return cell;
    }
    KW_TRY(const HostValue value, evaluate_set(source));  // C++17: the right side comes first
    KW_TRY(HostValue * cell, locate_to_store(*expr.children[0]));
    KW_TRY_VOID(store(*cell, value, expr.token));
    return cell;
  }
  KW_TRY(const HostValue value, evaluate_set(source));
  KW_TRY(HostValue * cell, locate_to_store(*expr.children[0]));
  KW_TRY(const HostValue old, read(*cell, *expr.children[0]));
  const std::string_view op = expr.text.substr(0, expr.text.size() - 1);
  KW_TRY_AT(const HostValue result, apply_binary(op, old, value, types_), expr.token);
  KW_TRY_VOID(store(*cell, result, expr.token));
  return cell;
}

Result<HostValue> HostInterpreter::evaluate_step(const Expr& expr) {
  const Expr& operand = *expr.children[0];
  KW_TRY(HostValue * cell, locate_to_store(operand));
  KW_TRY(const HostValue old, read(*cell, operand));
  if (old.type->kind == TypeKind::bool_) return unknown("++ on a bool", expr.token);
  KW_TRY_AT(const HostValue next,
            apply_binary(expr.text == "++" ? "+" : "-", old, make_integer(types_.int_type(), 1), types_), expr.token);
  KW_TRY_VOID(store(*cell, next, expr.token));
  if (expr.kind == ExprKind::postfix) return old;
  return read(*cell, operand);
}

}  // namespace kw
