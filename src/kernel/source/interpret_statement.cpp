// Statements.

#include "kernel/source/host_interpreter.h"

namespace kw {

Result<HostInterpreter::Flow> HostInterpreter::execute(const Stmt& statement) {
  const StepGuard guard(*this, statement.token);
  if (guard.error) return *guard.error;
  return execute_kind(statement);
}

Result<HostInterpreter::Flow> HostInterpreter::execute_kind(const Stmt& statement) {
  switch (statement.kind) {
    case StmtKind::empty:
    case StmtKind::case_:
    case StmtKind::default_:
      return Flow::next;
    case StmtKind::expression: {
      KW_TRY(const HostValue ignored, evaluate(*statement.value));
      static_cast<void>(ignored);
      return Flow::next;
    }
    case StmtKind::variables:
      for (const VariableSyntax& variable : statement.variables) KW_TRY_VOID(declare_variable(variable));
      return Flow::next;
    case StmtKind::block:
      return execute_block(statement);
    case StmtKind::if_:
      return execute_if(statement);
    case StmtKind::for_:
    case StmtKind::while_:
    case StmtKind::do_:
      return execute_loop(statement);
    case StmtKind::range_for:
      return execute_range_for(statement);
    case StmtKind::switch_:
      return execute_switch(statement);
    case StmtKind::break_:
      return Flow::break_;
    case StmtKind::continue_:
      return Flow::continue_;
    case StmtKind::return_:
      return execute_return(statement);
    case StmtKind::struct_: {
      const StructSyntax& structure = *statement.structure;
      KW_TRY(const HostType* type, struct_type({&structure}, {}, statement.token));
      frame().scopes.back().types.emplace_back(structure.name, type);
      return Flow::next;
    }
    case StmtKind::enum_: {
      const EnumSyntax& enumeration = *statement.enumeration;
      KW_TRY(const HostType* type, enum_type(enumeration));
      if (!enumeration.name.empty()) frame().scopes.back().types.emplace_back(enumeration.name, type);
      for (std::size_t i = 0; i < enumeration.enumerators.size() && !enumeration.scoped; ++i) {
        KW_TRY(HostValue value, enumerator_value(enumeration, i));
        KW_TRY(HostValue * cell, declare(enumeration.enumerators[i].first, types_.with_const(type), statement.token));
        cell->data = std::move(value.data);
      }
      return Flow::next;
    }
    case StmtKind::alias: {
      KW_TRY(const HostType* type, resolve(*statement.alias->type));
      frame().scopes.back().types.emplace_back(statement.alias->name, type);
      return Flow::next;
    }
    case StmtKind::static_assert_: {
      KW_TRY(const bool holds, condition(*statement.value));
      if (!holds) return fail("a static_assert fails", statement.token);
      return Flow::next;
    }
  }
  return unknown("this statement", statement.token);
}

Result<HostInterpreter::Flow> HostInterpreter::execute_block(const Stmt& block) {
  open_scope();
  Flow flow = Flow::next;
  for (const Stmt* statement : block.statements) {
    KW_TRY(flow, execute(*statement));
    if (flow != Flow::next) break;
  }
  close_scope();
  return flow;
}

Result<bool> HostInterpreter::loop_condition(const Stmt& statement) {
  if (statement.condition != nullptr) {  // the value of a declaration
    KW_TRY(const Flow flow, execute(*statement.condition));
    static_cast<void>(flow);
    KW_CHECK(!statement.condition->variables.empty());
    const HostValue& value = *frame().scopes.back().variables.back().second;
    KW_TRY_AT(const bool result, truth(value), statement.token);
    return result;
  }
  if (statement.value == nullptr) return true;
  return condition(*statement.value);
}

Result<HostInterpreter::Flow> HostInterpreter::execute_if(const Stmt& statement) {
  open_scope();
  if (statement.initial != nullptr) {
    KW_TRY(const Flow flow, execute(*statement.initial));
    static_cast<void>(flow);
  }
  KW_TRY(const bool chosen, loop_condition(statement));
  Flow flow = Flow::next;
  const Stmt* branch = chosen ? statement.first : statement.second;
  if (branch != nullptr) {
    KW_TRY(flow, execute(*branch));
  }
  close_scope();
  return flow;
}

Result<HostInterpreter::Flow> HostInterpreter::execute_loop(const Stmt& statement) {
  open_scope();
  if (statement.initial != nullptr) {
    KW_TRY(const Flow flow, execute(*statement.initial));
    static_cast<void>(flow);
  }
  Flow result = Flow::next;
  bool first = true;
  while (true) {
    open_scope();
    if (!(first && statement.kind == StmtKind::do_)) {
      KW_TRY(const bool goes_on, loop_condition(statement));
      if (!goes_on) {
        close_scope();
        break;
      }
    }
    first = false;
    KW_TRY(const Flow flow, execute(*statement.first));
    close_scope();
    if (flow == Flow::break_) break;
    if (flow == Flow::return_) {
      result = flow;
      break;
    }
    if (statement.step != nullptr) {
      KW_TRY(const HostValue ignored, evaluate(*statement.step));
      static_cast<void>(ignored);
    }
    if (--steps_left_ < 0) {
      return fail("the launcher does not end within its budget of steps", statement.token, "make its loops shorter");
    }
  }
  close_scope();
  return result;
}

Result<HostInterpreter::Flow> HostInterpreter::execute_range_for(const Stmt& statement) {
  const VariableSyntax& variable = statement.initial->variables.front();
  HostValue* array = nullptr;
  if (statement.value->kind == ExprKind::braces) {  // for (int n : {1, 2, 4})
    if (statement.value->children.empty()) return Flow::next;
    KW_TRY(const HostValue first, evaluate_set(*statement.value->children[0]));
    KW_TRY(HostValue list,
           construct_array(types_.array_of(first.type->plain, 0), statement.value->children, statement.token));
    KW_TRY(array, new_cell(list.type, statement.token));
    array->data = std::move(list.data);
  } else if (is_variable(*statement.value)) {
    KW_TRY(array, locate(*statement.value));
  } else {
    KW_TRY(HostValue list, evaluate_set(*statement.value));
    KW_TRY(array, new_cell(list.type, statement.token));
    array->data = std::move(list.data);
  }
  const bool reference =
      !variable.type->suffixes.empty() && variable.type->suffixes.back().kind != TypeSyntax::Suffix::Kind::pointer;
  if (array->type->kind == TypeKind::list && array->is_aggregate()) {
    if (reference && !variable.type->is_const) return unknown("a loop that changes a list", statement.token);
    KW_TRY(HostValue * copy, new_cell(array->type, statement.token));  // the list may grow meanwhile
    copy->data = array->data;
    array = copy;
  } else if (array->type->kind != TypeKind::array || !array->is_aggregate()) {
    return unknown("a loop over something that is not an array", statement.token);
  }
  for (std::size_t i = 0; i < array->parts().size(); ++i) {
    if (--steps_left_ < 0) return fail("the launcher does not end within its budget of steps", statement.token);
    open_scope();
    HostValue& element = array->parts()[i];
    if (reference) {
      frame().scopes.back().variables.emplace_back(variable.name, &element);
    } else {
      const HostType* type = element.type->plain;
      if (variable.type->base != TypeSyntax::Base::automatic) {
        KW_TRY(type, resolve(*variable.type));
      }
      KW_TRY_AT(const HostValue value, convert(element, type, Conversion::implicit, types_), statement.token);
      KW_TRY(HostValue * cell, declare(variable.name, type, variable.token));
      cell->data = value.data;
    }
    KW_TRY(const Flow flow, execute(*statement.first));
    close_scope();
    if (flow == Flow::break_) break;
    if (flow == Flow::return_) return flow;
  }
  return Flow::next;
}

Result<HostInterpreter::Flow> HostInterpreter::execute_switch(const Stmt& statement) {
  open_scope();
  if (statement.initial != nullptr) {
    KW_TRY(const Flow flow, execute(*statement.initial));
    static_cast<void>(flow);
  }
  HostValue selector;
  if (statement.condition != nullptr) {
    KW_TRY(const Flow flow, execute(*statement.condition));
    static_cast<void>(flow);
    selector = *frame().scopes.back().variables.back().second;
  } else {
    KW_TRY(selector, evaluate_set(*statement.value));
  }
  if (!selector.is_integer_value()) return fail("switch needs a whole number", statement.token);
  const std::vector<const Stmt*>& body = statement.first->statements;
  std::size_t start = body.size();
  for (std::size_t i = 0; i < body.size(); ++i) {
    if (body[i]->kind == StmtKind::default_ && start == body.size()) start = i;
    if (body[i]->kind != StmtKind::case_) continue;
    KW_TRY(const HostValue label, evaluate_set(*body[i]->value));
    if (!label.is_integer_value()) return fail("a case needs a whole number", body[i]->token);
    // Labels are converted to the selector's promoted type.
    if (make_integer(selector.type, label.integer()).integer() == selector.integer()) {
      start = i;
      break;
    }
  }
  open_scope();
  Flow result = Flow::next;
  for (std::size_t i = start; i < body.size(); ++i) {
    KW_TRY(const Flow flow, execute(*body[i]));
    if (flow == Flow::break_) break;
    if (flow != Flow::next) {
      result = flow;
      break;
    }
  }
  close_scope();
  close_scope();
  return result;
}

Result<HostInterpreter::Flow> HostInterpreter::execute_return(const Stmt& statement) {
  Frame& here = frame();
  if (statement.value == nullptr) {
    here.returned = HostValue{types_.basic(TypeKind::void_), std::int64_t{0}};
    return Flow::return_;
  }
  if (statement.value->kind == ExprKind::braces) {
    if (here.result == nullptr) return unknown("a list in braces without a type", statement.token);
    KW_TRY(here.returned, construct(here.result, statement.value->children, true, statement.token));
    return Flow::return_;
  }
  KW_TRY(HostValue value, evaluate(*statement.value));
  if (here.result != nullptr) {
    if (here.result->kind == TypeKind::void_ && value.type->kind != TypeKind::void_) {
      return fail("a value is returned from a void function", statement.token);
    }
    KW_TRY_AT(value, convert(value, here.result, Conversion::implicit, types_), statement.token);
  }
  here.returned = std::move(value);
  return Flow::return_;
}

}  // namespace kw
