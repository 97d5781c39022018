// Expressions. What an expression does besides its value (assignments, launches) becomes lines in front of the
// statement; where it may not happen, in a branch of ?: or behind &&, the lines stand in an `if`.

#include "kernel/export/launcher_translator.h"
#include "kernel/source/host_literal.h"

namespace kw {

Result<LauncherTranslator::Code> LauncherTranslator::translate(const Expr& expr, bool discard) {
  const StepGuard guard(*this, expr.token);
  if (guard.error) return *guard.error;
  return translate_kind(expr, discard);
}

Result<LauncherTranslator::Code> LauncherTranslator::translate_kind(const Expr& expr, bool discard) {
  switch (expr.kind) {
    case ExprKind::number:
    case ExprKind::character:
    case ExprKind::boolean:
    case ExprKind::null:
    case ExprKind::string:
    case ExprKind::sizeof_type:
    case ExprKind::sizeof_value:
    case ExprKind::alignof_type: {
      KW_TRY(const HostValue value, evaluate_kind(expr));
      return code_of(value);
    }
    case ExprKind::name:
      return translate_name(expr);
    case ExprKind::unary:
      return translate_unary(expr, discard);
    case ExprKind::postfix:
      return translate_step(expr, discard);
    case ExprKind::binary:
      return translate_binary(expr);
    case ExprKind::ternary:
      return translate_ternary(expr);
    case ExprKind::call:
      return call(expr, discard);
    case ExprKind::launch:
      return launch_expression(expr);
    case ExprKind::cast:
      return translate_cast(expr);
    case ExprKind::lambda:
      return lambda(expr);
    case ExprKind::construct: {
      KW_TRY(const HostType* type, resolve(*expr.type));
      return build(type, expr.children, expr.braces, expr.token);
    }
    case ExprKind::assign:
      return translate_assign(expr);
    case ExprKind::this_:
      if (frame().self == nullptr) return fail("`this` outside of a member function", expr.token);
      return plain(types_.pointer_to(frame().self->type), "Pointer([self], 0)");
    case ExprKind::subscript: {
      KW_TRY(const Target target, target_of(expr));
      return read_target(target);
    }
    case ExprKind::member: {
      if (expr.arrow || is_variable(*expr.children[0])) {
        KW_TRY(const Target target, target_of(expr));
        return read_target(target);
      }
      KW_TRY(const Code owner, translate(*expr.children[0]));
      if (owner.type->kind == TypeKind::structure) {
        for (const FieldType& field : owner.type->structure->fields) {
          if (field.name == expr.text) return plain(field.type, owner.text + "." + field_name(field.name));
        }
        KW_TRY_AT(const HostValue value, struct_constant(*owner.type, expr.text, expr.token), expr.token);
        return code_of(value);
      }
      return fail("a value of type " + owner.type->name + " has no member `" + std::string(expr.text) + "`",
                  expr.token);
    }
    default:
      break;
  }
  if (ends_program(expr)) {
    emit("refuse(\"the launcher gives up\", " + std::to_string(program_.position_of(expr.token).line) + ")");
    return plain(types_.basic(TypeKind::void_), "None");
  }
  return refuse(describe(expr), expr.token);
}

Result<LauncherTranslator::Code> LauncherTranslator::translate_name(const Expr& expr) {
  const Name& name = expr.name;
  if (name.parts.size() == 1 && !name.global) {
    if (HostValue* cell = find_variable(name.parts[0].name)) {
      if (const auto closure = closures_.find(cell); closure != closures_.end()) {
        Code code;
        code.type = types_.basic(TypeKind::closure);
        code.closure = closure->second;
        return code;
      }
      if (places_.count(cell) == 0 && cell->is_set()) {
        KW_TRY(const HostValue value, read(*cell, expr));
        if (!value.is_host_pointer()) return code_of(value);
        return plain(types_.pointer_to(cell->type->element), "Pointer(" + literal(*cell) + ", 0)");
      }
      KW_TRY(const Target target, target_of(expr));
      return read_target(target);
    }
  }
  KW_TRY(const HostValue value, evaluate_name(expr));
  if (value.is_host_pointer()) {  // a constant array
    return plain(value.type, "Pointer(" + literal(*value.host_pointer().target) + ", 0)");
  }
  return code_of(value);
}

Result<LauncherTranslator::Target> LauncherTranslator::target_of(const Expr& expr) {
  const StepGuard guard(*this, expr.token);
  if (guard.error) return *guard.error;
  Target target;
  switch (expr.kind) {
    case ExprKind::name: {
      HostValue* cell = expr.name.parts.size() == 1 ? find_variable(expr.name.parts[0].name) : nullptr;
      if (cell == nullptr) break;
      const auto place = places_.find(cell);
      if (place == places_.end()) break;
      target.type = cell->type;
      target.text = place->second.text;
      target.cell = cell;
      return target;
    }
    case ExprKind::assign: {
      KW_TRY(const Code ignored, translate_assign(expr));
      static_cast<void>(ignored);
      return target_of(*expr.children[0]);
    }
    case ExprKind::subscript: {
      const Expr& array = *expr.children[0];
      const HostType* known = is_variable(array) ? static_type(array) : nullptr;
      if (known != nullptr && known->kind == TypeKind::array) {
        const Result<Target> owner = target_of(array);
        if (owner.ok()) {
          KW_TRY(const Code index, translate(*expr.children[1]));
          target.type = known->element;
          target.owner = owner->text;
          target.key = index.text;
          target.text = owner->text + "[" + index.text + "]";
          return target;
        }
      }
      KW_TRY(const Code pointer, translate(array));
      KW_TRY(const Code index, translate(*expr.children[1]));
      if (pointer.type->kind != TypeKind::pointer) break;
      KW_TRY(const Code moved, pointer_binary("+", pointer, index, expr.token));
      target.type = pointer.type->element;
      target.text = moved.text + ".value";
      return target;
    }
    case ExprKind::member: {
      std::string owner;
      const HostType* type = nullptr;
      if (expr.arrow) {
        KW_TRY(const Code pointer, translate(*expr.children[0]));
        if (pointer.type->kind != TypeKind::pointer) break;
        owner = pointer.text + ".value";
        type = pointer.type->element;
      } else {
        KW_TRY(const Target inner, target_of(*expr.children[0]));
        owner = inner.text;
        type = inner.type;
      }
      if (type->kind != TypeKind::structure) break;
      for (const FieldType& field : type->structure->fields) {
        if (field.name != expr.text) continue;
        target.type = type->is_const ? types_.with_const(field.type) : field.type;
        target.owner = owner;
        target.key = "\"" + field_name(field.name) + "\"";
        target.text = owner + "." + field_name(field.name);
        return target;
      }
      break;
    }
    case ExprKind::unary:
      if (expr.text == "*") {
        KW_TRY(const Code pointer, translate(*expr.children[0]));
        if (pointer.type->kind != TypeKind::pointer) break;
        target.type = pointer.type->element;
        target.text = pointer.text + ".value";
        return target;
      }
      if (expr.text == "++" || expr.text == "--") {
        KW_TRY(const Code ignored, translate_step(expr, true));
        static_cast<void>(ignored);
        return target_of(*expr.children[0]);
      }
      break;
    default:
      break;
  }
  return fail(describe(expr) + " is not a variable", expr.token);
}

Result<LauncherTranslator::Code> LauncherTranslator::read_target(const Target& target) {
  if (target.type->kind == TypeKind::array) {
    return plain(types_.pointer_to(target.type->element), "Pointer(" + target.text + ", 0)");
  }
  Code code = plain(target.type, target.text);
  code.lvalue = target.type->kind == TypeKind::structure;
  return code;
}

Result<void> LauncherTranslator::write(const Target& target, const Code& code) {
  if (target.type->kind == TypeKind::structure) {
    emit(target.text + ".assign(" + code.text + ")");
    return {};
  }
  if (target.cell != nullptr) {
    const Place& place = places_.at(target.cell);
    if (!place.boxed && !place.reference && place.owner != function_.get())
      need_box(place);  // a lambda's outer variable
  }
  emit(target.text + " = " + code.text);
  return {};
}

Result<std::string> LauncherTranslator::pointer_to_target(const Target& target, TokenIndex token) {
  static_cast<void>(token);
  if (target.type->kind == TypeKind::structure) return "Pointer([" + target.text + "], 0)";
  if (target.text.ends_with(".value") && target.owner.empty()) return target.text.substr(0, target.text.size() - 6);
  if (!target.owner.empty()) {
    return (target.key.starts_with("\"") ? "FieldPointer(" : "Pointer(") + target.owner + ", " + target.key + ")";
  }
  KW_CHECK(target.cell != nullptr);
  const Place& place = places_.at(target.cell);
  if (!place.boxed) need_box(place);
  return "Pointer(" + target.text.substr(0, target.text.find("[0]")) + ", 0)";
}

Result<LauncherTranslator::Code> LauncherTranslator::translate_unary(const Expr& expr, bool discard) {
  const Expr& operand = *expr.children[0];
  if (expr.text == "++" || expr.text == "--") return translate_step(expr, discard);
  if (expr.text == "&") {
    if (is_variable(operand) || operand.kind == ExprKind::subscript) {
      const Result<Target> target = target_of(operand);
      if (target.ok()) {
        KW_TRY(std::string text, pointer_to_target(*target, expr.token));
        return plain(types_.pointer_to(target->type), std::move(text));
      }
    }
    KW_TRY(Code code, translate(operand));
    if (code.function != nullptr) return code;
    return refuse("the address of " + describe(operand), expr.token);
  }
  if (expr.text == "*") {
    if (const HostType* type = static_type(operand); type == nullptr || type->kind == TypeKind::function) {
      KW_TRY(Code code, translate(operand));
      if (code.type->kind == TypeKind::function) return code;
    }
    KW_TRY(const Target target, target_of(expr));
    return read_target(target);
  }
  KW_TRY(const Code code, translate(operand));
  return unary(expr.text, code, expr.token);
}

Result<LauncherTranslator::Code> LauncherTranslator::translate_step(const Expr& expr, bool discard) {
  KW_TRY(const Target target, target_of(*expr.children[0]));
  KW_TRY(Code before, read_target(target));
  if (expr.kind == ExprKind::postfix && !discard) {
    const std::string kept_name = unique_name("before");
    emit(kept_name + " = " + before.text);
    before.text = kept_name;
  }
  const Code one = code_of(make_integer(types_.int_type(), 1));
  KW_TRY(const Code sum, binary(expr.text == "++" ? "+" : "-", before, one, expr.token));
  KW_TRY(const Code after, converted(sum, target.type, Conversion::cast, expr.token));
  KW_TRY_VOID(write(target, after));
  return before;
}

Result<LauncherTranslator::Code> LauncherTranslator::translate_assign(const Expr& expr) {
  const Expr& value = *expr.children[1];
  if (expr.text == "=") {
    const HostType* type = static_type(*expr.children[0]);
    Code code;
    if (value.kind == ExprKind::braces) {
      if (type == nullptr) return refuse("this assignment", expr.token);
      KW_TRY(code, build(type, value.children, true, value.token));
    } else {
      KW_TRY(code, translate(value));
    }
    KW_TRY(const Target target, target_of(*expr.children[0]));
    if (target.type->is_const) return fail("a constant is assigned", expr.token);
    KW_TRY(code, converted(std::move(code), target.type, Conversion::implicit, expr.token));
    if (code.function != nullptr) {
      KW_TRY(code.text, kernel_value(code, expr.token));
    }
    KW_TRY_VOID(write(target, code));
    return read_target(target);
  }
  KW_TRY(const Code right, translate(value));
  KW_TRY(const Target target, target_of(*expr.children[0]));
  if (target.type->is_const) return fail("a constant is assigned", expr.token);
  KW_TRY(const Code left, read_target(target));
  KW_TRY(const Code result, binary(expr.text.substr(0, expr.text.size() - 1), left, right, expr.token));
  KW_TRY(const Code code, converted(result, target.type, Conversion::cast, expr.token));
  KW_TRY_VOID(write(target, code));
  return read_target(target);
}

Result<LauncherTranslator::Code> LauncherTranslator::translate_logical(const Expr& expr) {
  KW_TRY(const Code left, translate(*expr.children[0]));
  const bool conjunction = expr.text == "&&";
  if (left.constant) {
    KW_TRY_AT(const bool known, truth(*left.constant), expr.token);
    if (known != conjunction) return code_of(make_integer(types_.bool_type(), known));
  }
  PythonBlock lines;
  PythonBlock* const outer = std::exchange(block_, &lines);
  Result<Code> right = translate(*expr.children[1]);
  block_ = outer;
  if (!right.ok()) return right.error();
  if (left.constant) {
    block_->append(lines);
    return converted(*right, types_.bool_type(), Conversion::cast, expr.token);
  }
  if (right->constant && lines.empty()) {
    KW_TRY_AT(const bool known, truth(*right->constant), expr.token);
    if (known == conjunction) return converted(left, types_.bool_type(), Conversion::cast, expr.token);
  }
  if (lines.empty()) {
    return plain(types_.bool_type(), "to_bool(" + left.text + (conjunction ? " and " : " or ") + right->text + ")");
  }
  const std::string name = unique_name("holds");
  emit(name + " = to_bool(" + left.text + ")");
  const auto inner = block_->open(std::string(conjunction ? "if " : "if not ") + name + ":");
  inner->append(lines);
  inner->add(name + " = to_bool(" + right->text + ")");
  return plain(types_.bool_type(), name);
}

Result<LauncherTranslator::Code> LauncherTranslator::translate_binary(const Expr& expr) {
  if (expr.text == "&&" || expr.text == "||") return translate_logical(expr);
  if (expr.text == ",") {
    KW_TRY(const Code ignored, translate(*expr.children[0], true));
    static_cast<void>(ignored);
    return translate(*expr.children[1]);
  }
  KW_TRY(const Code a, translate(*expr.children[0]));
  KW_TRY(const Code b, translate(*expr.children[1]));
  return binary(expr.text, a, b, expr.token);
}

const HostType* LauncherTranslator::ternary_type(const Code& a, const Code& b) {
  const HostType* x = a.type->plain;
  const HostType* y = b.type->plain;
  if (x == y) return x;
  if (x->kind == TypeKind::pointer && y->kind == TypeKind::null) return x;
  if (y->kind == TypeKind::pointer && x->kind == TypeKind::null) return y;
  if (x->kind == TypeKind::pointer && y->kind == TypeKind::pointer) {
    return conversion_rank(*x, *y) >= 0 ? y : conversion_rank(*y, *x) >= 0 ? x : nullptr;
  }
  return common_type(*x, *y, types_);
}

Result<LauncherTranslator::Code> LauncherTranslator::translate_ternary(const Expr& expr) {
  KW_TRY(const Code test, translate(*expr.children[0]));
  PythonBlock lines[2];
  Code branches[2];
  for (std::size_t i = 0; i < 2; ++i) {
    PythonBlock* const outer = std::exchange(block_, &lines[i]);
    Result<Code> code = translate(*expr.children[i + 1]);
    block_ = outer;
    if (!code.ok()) return code.error();
    branches[i] = std::move(code).value();
  }
  const HostType* type = ternary_type(branches[0], branches[1]);
  if (type == nullptr) return refuse("?: of " + branches[0].type->name + " and " + branches[1].type->name, expr.token);
  for (Code& branch : branches) {
    KW_TRY(branch, converted(std::move(branch), type, Conversion::implicit, expr.token));
    if (branch.function != nullptr) {
      KW_TRY(branch.text, kernel_value(branch, expr.token));
      branch.function = nullptr;
    }
  }
  if (test.constant) {
    KW_TRY_AT(const bool first, truth(*test.constant), expr.token);
    block_->append(lines[first ? 0 : 1]);
    return branches[first ? 0 : 1];
  }
  if (lines[0].empty() && lines[1].empty()) {
    return plain(type, "(" + kept(branches[0]) + " if " + test.text + " else " + kept(branches[1]) + ")");
  }
  const std::string name = unique_name("chosen");
  for (std::size_t i = 0; i < 2; ++i) {
    const auto inner = block_->open(i == 0 ? "if " + test.text + ":" : "else:");
    inner->append(lines[i]);
    inner->add(name + " = " + kept(branches[i]));
  }
  return plain(type, name);
}

Result<LauncherTranslator::Code> LauncherTranslator::translate_cast(const Expr& expr) {
  KW_TRY(const HostType* type, resolve(*expr.type));
  if (type->kind == TypeKind::void_) {
    KW_TRY(const Code ignored, translate(*expr.children[0], true));
    static_cast<void>(ignored);
    return plain(type, "None");
  }
  if (type->kind == TypeKind::structure) return build(type, expr.children, false, expr.token);
  KW_TRY(Code code, translate(*expr.children[0]));
  if (code.type->kind == TypeKind::pointer && is_integer(*type) && type->kind != TypeKind::bool_) {
    if (type->bytes != 8) return refuse("a cast from " + code.type->name + " to " + type->name, expr.token);
    reads_addresses_ = true;
    return plain(type, "address(" + code.text + ")");
  }
  return converted(std::move(code), type, Conversion::cast, expr.token);
}

}  // namespace kw
