// Statements.

#include "kernel/export/launcher_translator.h"

namespace kw {

bool LauncherTranslator::ends_program(const Expr& expr) const {
  if (expr.kind == ExprKind::unsupported && expr.text == "throw") return true;
  if (expr.kind != ExprKind::call || expr.children[0]->kind != ExprKind::name) return false;
  const std::string_view name = expr.children[0]->name.parts.back().name;
  return name == "exit" || name == "abort" || name == "_exit" || name == "terminate";
}

Result<LauncherTranslator::End> LauncherTranslator::statement(const Stmt& stmt) {
  const StepGuard guard(*this, stmt.token);
  if (guard.error) return *guard.error;
  return statement_kind(stmt);
}

Result<LauncherTranslator::End> LauncherTranslator::statements(const std::vector<const Stmt*>& list) {
  for (const Stmt* item : list) {
    KW_TRY(const End end, statement(*item));
    if (end == End::jumps) return End::jumps;  // the rest is never reached
  }
  return End::falls_through;
}

Result<LauncherTranslator::End> LauncherTranslator::in_block(const std::shared_ptr<PythonBlock>& block,
                                                             const Stmt& stmt) {
  PythonBlock* const outer = std::exchange(block_, block.get());
  open_scope();
  Result<End> end = statement(stmt);
  if (end.ok()) close_scope();
  block_ = outer;
  return end;
}

Result<LauncherTranslator::End> LauncherTranslator::statement_kind(const Stmt& stmt) {
  switch (stmt.kind) {
    case StmtKind::expression: {
      const std::string line = std::to_string(program_.position_of(stmt.token).line);
      if (ends_program(*stmt.value)) {
        emit("refuse(\"the launcher gives up\", " + line + ")");
        return End::jumps;
      }
      KW_TRY(const Code code, translate(*stmt.value, true));
      const bool call = code.text.ends_with(")") && stmt.value->kind == ExprKind::call;
      if (call && code.text.find('(') != 0 && !code.constant) emit(code.text);
      return End::falls_through;
    }
    case StmtKind::variables:
      for (const VariableSyntax& variable : stmt.variables) KW_TRY_VOID(declare_translated(variable));
      return End::falls_through;
    case StmtKind::block: {
      open_scope();
      KW_TRY(const End end, statements(stmt.statements));
      close_scope();
      return end;
    }
    case StmtKind::if_:
      return if_statement(stmt);
    case StmtKind::for_:
    case StmtKind::while_:
    case StmtKind::do_:
      return loop_statement(stmt);
    case StmtKind::range_for:
      return range_statement(stmt);
    case StmtKind::switch_:
      return switch_statement(stmt);
    case StmtKind::break_:
      if (loops_.empty()) return fail("break outside of a loop", stmt.token);
      loops_.back()->break_used = true;
      emit("break");
      return End::jumps;
    case StmtKind::continue_: {
      if (loops_.empty()) return fail("continue outside of a loop", stmt.token);
      if (loops_.back()->is_switch) return refuse("continue inside a switch", stmt.token);
      if (loops_.back()->before_continue != nullptr) block_->append(*loops_.back()->before_continue);
      emit("continue");
      return End::jumps;
    }
    case StmtKind::return_:
      return return_statement(stmt);
    default: {  // types, empty statements, static_assert: the interpreter's own, they make no Python
      KW_TRY(const Flow flow, execute_kind(stmt));
      static_cast<void>(flow);
      return End::falls_through;
    }
  }
}

Result<LauncherTranslator::Code> LauncherTranslator::statement_condition(const Stmt& stmt) {
  if (stmt.condition != nullptr) {
    KW_TRY(const End end, statement(*stmt.condition));
    static_cast<void>(end);
    HostValue* cell = frame().scopes.back().variables.back().second;
    const auto place = places_.find(cell);
    if (place != places_.end()) return plain(cell->type, place->second.text);
    return code_of(*cell);
  }
  if (stmt.value == nullptr) return code_of(make_integer(types_.bool_type(), 1));
  return translate(*stmt.value);
}

Result<LauncherTranslator::End> LauncherTranslator::if_statement(const Stmt& stmt) {
  open_scope();
  if (stmt.initial != nullptr) {
    KW_TRY(const End end, statement(*stmt.initial));
    static_cast<void>(end);
  }
  KW_TRY(const Code test, statement_condition(stmt));
  End result = End::falls_through;
  if (test.constant) {
    KW_TRY_AT(const bool chosen, truth(*test.constant), stmt.token);
    const Stmt* branch = chosen ? stmt.first : stmt.second;
    if (branch != nullptr) {
      KW_TRY(result, statement(*branch));
    }
  } else if (stmt.is_constexpr) {
    return refuse("an `if constexpr` whose condition is not constant", stmt.token);
  } else {
    const auto first = block_->open("if " + test.text + ":");
    KW_TRY(const End one, in_block(first, *stmt.first));
    End two = End::falls_through;
    if (stmt.second != nullptr) {
      const auto second = std::make_shared<PythonBlock>();
      KW_TRY(two, in_block(second, *stmt.second));
      if (!second->empty()) block_->open("else:")->append(*second);
    }
    if (one == End::jumps && two == End::jumps) result = End::jumps;
  }
  close_scope();
  return result;
}

Result<LauncherTranslator::End> LauncherTranslator::loop_statement(const Stmt& stmt) {
  open_scope();
  if (stmt.initial != nullptr) {
    KW_TRY(const End end, statement(*stmt.initial));
    static_cast<void>(end);
  }
  Loop loop;
  loop.before_continue = std::make_shared<PythonBlock>();
  const auto lines_of = [&](const std::shared_ptr<PythonBlock>& block, auto step) -> Result<void> {
    PythonBlock* const outer = std::exchange(block_, block.get());
    const Result<void> done = step();
    block_ = outer;
    return done;
  };
  if (stmt.step != nullptr) {
    KW_TRY_VOID(lines_of(loop.before_continue, [&]() -> Result<void> {
      KW_TRY(const Code ignored, translate(*stmt.step, true));
      static_cast<void>(ignored);
      return {};
    }));
  }
  open_scope();
  const auto before = std::make_shared<PythonBlock>();
  Code test;
  KW_TRY_VOID(lines_of(before, [&]() -> Result<void> {
    KW_TRY(test, statement_condition(stmt));
    return {};
  }));
  const bool forever = test.constant && test.constant->is_integer_value() && test.constant->integer() != 0;
  const bool simple = before->empty() && stmt.kind != StmtKind::do_;
  const auto body = block_->open(simple && !forever ? "while " + test.text + ":" : "while True:");
  if (stmt.kind == StmtKind::do_) {
    loop.before_continue->append(*before);
    if (!forever) loop.before_continue->open("if not " + test.text + ":")->add("break");
  } else if (!simple) {
    body->append(*before);
    if (!forever) body->open("if not " + test.text + ":")->add("break");
  }
  loops_.push_back(&loop);
  Result<End> end = in_block(body, *stmt.first);
  loops_.pop_back();
  if (!end.ok()) return end.error();
  if (*end == End::falls_through) body->append(*loop.before_continue);
  close_scope();
  close_scope();
  return End::falls_through;
}

Result<LauncherTranslator::End> LauncherTranslator::range_statement(const Stmt& stmt) {
  const VariableSyntax& variable = stmt.initial->variables.front();
  std::string array;
  const HostType* element = nullptr;
  if (stmt.value->kind == ExprKind::braces) {  // for (int n : {1, 2, 4})
    if (stmt.value->children.empty()) return End::falls_through;
    KW_TRY(const Code first, translate(*stmt.value->children[0]));
    KW_TRY(const Code list, build_array(types_.array_of(first.type->plain, 0), stmt.value->children, stmt.token));
    array = list.text;
    element = first.type->plain;
  } else {
    KW_TRY(const Target target, target_of(*stmt.value));
    if (target.type->kind != TypeKind::array) {
      return refuse("a loop over something that is not an array", stmt.token);
    }
    array = target.text;
    element = target.type->element;
  }
  const bool reference =
      !variable.type->suffixes.empty() && variable.type->suffixes.back().kind != TypeSyntax::Suffix::Kind::pointer;
  open_scope();
  std::shared_ptr<PythonBlock> body;
  if (reference && element->kind != TypeKind::structure) {
    KW_TRY(HostValue * cell, declare(variable.name, element, variable.token));
    const std::string name = unique_name(variable.name);
    Place place;
    place.text = name + ".value";
    place.declared = variable.token;
    place.reference = true;
    place.owner = function_.get();
    places_[cell] = std::move(place);
    body = block_->open("for " + name + " in " + array + ".pointers():");
  } else {
    const HostType* type = element->plain;
    if (variable.type->base != TypeSyntax::Base::automatic && !reference) {
      KW_TRY(type, resolve(*variable.type));
    }
    const std::string item = unique_name("item");
    Code code = plain(element, item);
    code.lvalue = element->kind == TypeKind::structure && !reference;
    KW_TRY(code, converted(std::move(code), type, Conversion::implicit, stmt.token));
    std::string name;
    KW_TRY(HostValue * cell, declare_python(variable.name, type, variable.token, &name));
    body = block_->open("for " + item + " in " + array + ":");
    body->add(name + " = " + (places_.at(cell).boxed ? "Array([" + kept(code) + "])" : kept(code)));
  }
  Loop loop;
  loops_.push_back(&loop);
  Result<End> end = in_block(body, *stmt.first);
  loops_.pop_back();
  if (!end.ok()) return end.error();
  close_scope();
  return End::falls_through;
}

// A chain of `if`s: each group of labels with the statements up to the next break, those of later groups included. A
// break in the middle leaves a loop that is run once.
Result<LauncherTranslator::End> LauncherTranslator::switch_statement(const Stmt& stmt) {
  open_scope();
  if (stmt.initial != nullptr) {
    KW_TRY(const End end, statement(*stmt.initial));
    static_cast<void>(end);
  }
  KW_TRY(const Code selector, statement_condition(stmt));
  const std::string name = unique_name("selected");
  emit(name + " = " + selector.text);
  const std::vector<const Stmt*>& body = stmt.first->statements;
  const auto once = block_->open("for " + unique_name("once") + " in (0,):");
  std::set<std::size_t> starts;
  std::string labels;
  std::string others;  // every label, for default
  struct Group {
    std::string test;
    std::size_t start;
  };
  std::vector<Group> groups;
  std::optional<std::size_t> other_start;
  for (std::size_t i = 0; i < body.size(); ++i) {
    if (body[i]->kind == StmtKind::default_) other_start = i;
    if (body[i]->kind != StmtKind::case_) continue;
    KW_TRY(const HostValue label, evaluate_set(*body[i]->value));
    if (!label.is_integer_value()) return fail("a case needs a whole number", body[i]->token);
    const std::string value = literal(make_integer(selector.type, label.integer()));
    std::size_t start = i;
    while (start + 1 < body.size() && body[start + 1]->kind == StmtKind::case_) ++start;
    if (!groups.empty() && groups.back().start == start) {
      groups.back().test += " or " + name + " == " + value;
    } else {
      groups.push_back({name + " == " + value, start});
    }
  }
  if (other_start) groups.push_back({"", *other_start});
  Loop loop;
  loop.is_switch = true;
  loops_.push_back(&loop);
  bool first = true;
  for (const Group& group : groups) {
    const auto header =
        group.test.empty() ? (first ? "if True:" : "else:") : (first ? "if " : "elif ") + group.test + ":";
    first = false;
    const auto inner = once->open(header);
    PythonBlock* const outer = std::exchange(block_, inner.get());
    open_scope();
    const std::vector<const Stmt*> rest(body.begin() + static_cast<std::ptrdiff_t>(group.start), body.end());
    const Result<End> end = statements(rest);
    block_ = outer;
    if (!end.ok()) {
      loops_.pop_back();
      return end.error();
    }
    close_scope();
  }
  loops_.pop_back();
  close_scope();
  return End::falls_through;
}

Result<LauncherTranslator::End> LauncherTranslator::return_statement(const Stmt& stmt) {
  if (stmt.value == nullptr) {
    emit("return");
    return End::jumps;
  }
  const HostType* wanted = frame().result;
  Code code;
  if (stmt.value->kind == ExprKind::braces) {
    if (wanted == nullptr) return refuse("a list in braces without a type", stmt.token);
    KW_TRY(code, build(wanted, stmt.value->children, true, stmt.token));
  } else {
    KW_TRY(code, translate(*stmt.value));
    if (wanted != nullptr && wanted->kind == TypeKind::void_) {
      if (code.text.ends_with(")") && !code.constant) emit(code.text);
      emit("return");
      return End::jumps;
    }
    if (wanted != nullptr) {
      KW_TRY(code, converted(std::move(code), wanted, Conversion::implicit, stmt.token));
    }
  }
  if (code.closure != nullptr) return refuse("a function that returns a lambda", stmt.token);
  if (code.function != nullptr) {
    KW_TRY(code.text, kernel_value(code, stmt.token));
  }
  if (wanted == nullptr) {
    frame().result = code.type->plain;  // the first return decides
  }
  emit("return " + kept(code));
  return End::jumps;
}

}  // namespace kw
