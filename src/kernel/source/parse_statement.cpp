// Statements and local declarations.

#include <utility>

#include "kernel/source/host_parser.h"

namespace kw {

Stmt* HostParser::make(StmtKind kind, TokenIndex token) {
  Stmt& statement = store_.statements.emplace_back();
  statement.kind = kind;
  statement.token = token;
  return &statement;
}

const Stmt* HostParser::parse_block(bool of_switch) {
  Stmt* block = make(StmtKind::block, here());
  const DepthGuard guard(*this);
  if (!guard.ok) return block;
  parse_braces([&] {
    case_allowed_ = of_switch;
    block->statements.push_back(parse_statement());
  });
  return block;
}

const Stmt* HostParser::parse_statement() {
  const TokenIndex at = here();
  const DepthGuard guard(*this);
  if (!guard.ok) return make(StmtKind::empty, at);
  const bool case_allowed = std::exchange(case_allowed_, false);
  if ((is("case") || is("default")) && !case_allowed) {
    fail("the launcher uses a case label inside another statement, which the interpreter does not know");
    return make(StmtKind::empty, at);
  }
  if (take(";")) return make(StmtKind::empty, at);
  if (is("{")) return parse_block();
  if (is("if")) return parse_if();
  if (is("for")) return parse_for();
  if (is("switch")) return parse_switch();
  if (const Stmt* control = parse_loop_or_jump(at)) return control;
  if (is("goto") || is("try") || is("asm") || (is_identifier() && is(":", 1) && !is("::", 1))) {
    fail("the launcher uses " + std::string(is_identifier() ? "a label" : token().text) +
         ", which the interpreter does not know");
    return make(StmtKind::empty, at);
  }
  if (is("[") && is("[", 1)) {  // an attribute: [[maybe_unused]]
    skip_balanced();
    return parse_statement();
  }
  if (const Stmt* definition = parse_local_definition(at)) return definition;
  if (is("static") || is("register") || is("thread_local") || is("extern") || is("__shared__") ||
      starts_declaration()) {
    return parse_simple_declaration(true);
  }
  if (const std::string type = unknown_type(); !type.empty()) {
    fail("the launcher uses the type " + type + ", which the interpreter does not know");
    return make(StmtKind::empty, at);
  }
  Stmt* statement = make(StmtKind::expression, at);
  statement->value = parse_expression();
  expect(";");
  return statement;
}

const Stmt* HostParser::parse_loop_or_jump(TokenIndex at) {
  if (take("while")) {
    Stmt* loop = make(StmtKind::while_, at);
    expect("(");
    names_.open();
    loop->condition = parse_condition(&loop->value);
    expect(")");
    loop->first = parse_statement();
    names_.close(false);
    return loop;
  }
  if (take("do")) {
    Stmt* loop = make(StmtKind::do_, at);
    loop->first = parse_statement();
    expect("while");
    expect("(");
    loop->value = parse_expression();
    expect(")");
    expect(";");
    return loop;
  }
  if (is("break") || is("continue")) {
    Stmt* jump = make(is("break") ? StmtKind::break_ : StmtKind::continue_, at);
    advance();
    expect(";");
    return jump;
  }
  if (take("return")) {
    Stmt* result = make(StmtKind::return_, at);
    if (!is(";")) result->value = parse_expression();
    expect(";");
    return result;
  }
  if (take("case")) {
    Stmt* label = make(StmtKind::case_, at);
    label->value = parse_assignment();
    expect(":");
    return label;
  }
  if (take("default")) {
    expect(":");
    return make(StmtKind::default_, at);
  }
  return nullptr;
}

const Stmt* HostParser::parse_local_definition(TokenIndex at) {
  if (take("static_assert")) {
    Stmt* check = make(StmtKind::static_assert_, at);
    expect("(");
    check->value = parse_assignment();
    if (take(",")) check->initial = nullptr, parse_assignment();
    expect(")");
    expect(";");
    return check;
  }
  if (is("using") && !is("=", 2)) {  // using namespace a; using std::min;
    parse_using();
    expect(";");
    return make(StmtKind::empty, at);
  }
  if (is("using") || is("typedef")) {
    Stmt* alias = make(StmtKind::alias, at);
    alias->alias = parse_alias();
    return alias;
  }
  const bool defines = is("{", 1) || is("{", 2) || is(":", 2);
  if ((is("struct") || is("class")) && defines) {
    Stmt* statement = make(StmtKind::struct_, at);
    statement->structure = parse_struct({});
    expect(";");
    return statement;
  }
  if (is("enum") && (defines || is("{", 3) || is(":", 3))) {
    Stmt* statement = make(StmtKind::enum_, at);
    statement->enumeration = parse_enum();
    expect(";");
    return statement;
  }
  return nullptr;
}

// The name of a type that nobody has declared, when a declaration seems to begin: `cudaEvent_t e`, `std::vector<int>
// v`.
std::string HostParser::unknown_type() const {
  std::string name;
  std::size_t ahead = 0;
  while (is_identifier(ahead)) {
    name += token(ahead).text;
    if (!is("::", ahead + 1)) break;
    name += "::";
    ahead += 2;
  }
  const bool qualified = ahead > 0;
  if (is_identifier(ahead) && is_identifier(ahead + 1)) return name;
  const bool generic =
      is_identifier(ahead) && is("<", ahead + 1) && qualified && is("std") && !names_template(token(ahead).text);
  return generic ? name : std::string();
}

const Stmt* HostParser::parse_simple_declaration(bool needs_semicolon) {
  Stmt* declaration = make(StmtKind::variables, here());
  bool is_static = false, is_constexpr = false;
  while (is("static") || is("constexpr") || is("register") || is("thread_local") || is("extern") || is("__shared__")) {
    if (!is("constexpr") && !is("static")) {
      unsupported(token().text);
      return declaration;
    }
    is_static = is_static || is("static");
    is_constexpr = is_constexpr || is("constexpr");
    advance();
  }
  const std::size_t begin = at_;
  const TypeSyntax* base = parse_type_specifier();
  for (std::size_t i = begin; i < at_ && i < end_; ++i) {  // `const constexpr int`
    if (program_.tokens[i].is("constexpr")) is_constexpr = true;
  }
  if (is("[") && base->base == TypeSyntax::Base::automatic) {
    unsupported("a structured binding");
    return declaration;
  }
  parse_variables(*base, declaration->variables, is_static, is_constexpr);
  if (needs_semicolon) expect(";");
  return declaration;
}

void HostParser::parse_variables(const TypeSyntax& base, std::vector<VariableSyntax>& variables, bool is_static,
                                 bool is_constexpr) {
  while (!failed_) {
    TypeSyntax& type = store_.types.emplace_back(base);
    VariableSyntax variable;
    parse_pointers(type);
    variable.token = here();
    if (!parse_function_pointer(type, &variable.name)) variable.name = take_identifier("a variable's name");
    parse_arrays(type);
    while (is("[") && is("[", 1)) skip_balanced();
    variable.type = &type;
    variable.is_static = is_static;
    variable.is_constexpr = is_constexpr;
    names_.declare(variable.name, NameKind::value);
    using Initial = VariableSyntax::Initial;
    if (take("=")) {
      variable.initial = Initial::copy;
      variable.values.push_back(parse_assignment());
    } else if (is("(") || is("{")) {
      const bool braces = is("{");
      variable.initial = braces ? Initial::braces : Initial::parentheses;
      advance();
      if (!braces && is(")"))
        fail("`" + std::string(variable.name) + "()` declares a function", "leave out the brackets");
      variable.values = parse_arguments(braces ? "}" : ")");
    }
    variables.push_back(std::move(variable));
    if (!take(",")) return;
  }
}

const Stmt* HostParser::parse_condition(const Expr** value) {
  if (starts_declaration()) return parse_simple_declaration(false);
  *value = parse_expression();
  return nullptr;
}

const Stmt* HostParser::parse_if() {
  Stmt* statement = make(StmtKind::if_, here());
  advance();
  statement->is_constexpr = take("constexpr");
  expect("(");
  names_.open();
  statement->condition = parse_condition(&statement->value);
  if (is(";")) {  // if (initial; condition)
    advance();
    Stmt* initial = nullptr;
    if (statement->condition == nullptr) {
      initial = make(StmtKind::expression, statement->token);
      initial->value = statement->value;
    }
    statement->initial = initial != nullptr ? initial : statement->condition;
    statement->value = nullptr;
    statement->condition = parse_condition(&statement->value);
  }
  expect(")");
  statement->first = parse_statement();
  if (take("else")) statement->second = parse_statement();
  names_.close(false);
  return statement;
}

const Stmt* HostParser::parse_for() {
  Stmt* loop = make(StmtKind::for_, here());
  advance();
  expect("(");
  names_.open();
  if (starts_declaration()) {
    loop->initial = parse_simple_declaration(false);
    if (is(":")) {
      advance();
      loop->kind = StmtKind::range_for;
      loop->value = parse_assignment();
      expect(")");
      loop->first = parse_statement();
      names_.close(false);
      return loop;
    }
    expect(";");
  } else if (!take(";")) {
    Stmt* initial = make(StmtKind::expression, here());
    initial->value = parse_expression();
    loop->initial = initial;
    expect(";");
  }
  if (!is(";")) loop->value = parse_expression();
  expect(";");
  if (!is(")")) loop->step = parse_expression();
  expect(")");
  loop->first = parse_statement();
  names_.close(false);
  return loop;
}

const Stmt* HostParser::parse_switch() {
  Stmt* statement = make(StmtKind::switch_, here());
  advance();
  expect("(");
  names_.open();
  statement->condition = parse_condition(&statement->value);
  if (take(";")) {
    if (statement->condition == nullptr) fail_near("a declaration");
    statement->initial = statement->condition;
    statement->condition = parse_condition(&statement->value);
  }
  expect(")");
  if (!is("{")) fail_near("`{`");
  if (!failed_) statement->first = parse_block(true);
  names_.close(false);
  return statement;
}

const AliasSyntax* HostParser::parse_alias() {
  AliasSyntax& alias = store_.aliases.emplace_back();
  alias.scope = scope();
  alias.token = here();
  if (take("using")) {
    alias.name = take_identifier("a name");
    expect("=");
    alias.type = parse_type();
  } else {
    expect("typedef");
    TypeSyntax* type = parse_type_specifier();
    parse_pointers(*type);
    if (!parse_function_pointer(*type, &alias.name)) alias.name = take_identifier("a name");
    parse_arrays(*type);
    alias.type = type;
  }
  expect(";");
  if (!failed_) names_.declare(alias.name, NameKind::type);
  return &alias;
}

}  // namespace kw
