// Expressions, by precedence climbing.

#include <algorithm>
#include <array>

#include "kernel/source/host_parser.h"

namespace kw {
namespace {

constexpr std::uint16_t max_expression_depth = 200;

struct Operator {
  std::string_view text;
  int precedence;
};
constexpr std::array<Operator, 17> binary_operators = {{{"||", 1},
                                                        {"&&", 2},
                                                        {"|", 3},
                                                        {"^", 4},
                                                        {"&", 5},
                                                        {"==", 6},
                                                        {"!=", 6},
                                                        {"<", 7},
                                                        {"<=", 7},
                                                        {"<<", 8},
                                                        {"+", 9},
                                                        {"-", 9},
                                                        {"*", 10},
                                                        {"/", 10},
                                                        {"%", 10},
                                                        {"or", 1},
                                                        {"and", 2}}};
constexpr std::array<std::string_view, 10> assignments = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<="};

// Members of a tensor that are templates: a `<` behind them compares nothing.
bool is_tensor_template(std::string_view member) {
  return member == "data_ptr" || member == "const_data_ptr" || member == "mutable_data_ptr" || member == "data" ||
         member == "item" || member.starts_with("packed_accessor") || member == "accessor";
}

// Resets what only holds directly inside <...> or <<<...>>>.
class Brackets {
 public:
  Brackets(int& angle_depth, bool& launch) : angle_depth_(angle_depth), launch_(launch), old_(angle_depth, launch) {
    angle_depth_ = 0;
    launch_ = false;
  }
  ~Brackets() {
    angle_depth_ = old_.first;
    launch_ = old_.second;
  }
  Brackets(const Brackets&) = delete;
  Brackets& operator=(const Brackets&) = delete;

 private:
  int& angle_depth_;
  bool& launch_;
  std::pair<int, bool> old_;
};

}  // namespace

Expr* HostParser::make(ExprKind kind, TokenIndex token, std::vector<const Expr*> children) {
  Expr& expr = store_.expressions.emplace_back();
  expr.kind = kind;
  expr.token = token;
  for (const Expr* child : children) expr.depth = std::max<std::uint16_t>(expr.depth, child->depth + 1);
  expr.children = std::move(children);
  if (expr.depth > max_expression_depth) fail("an expression is too long");
  if (store_.expressions.size() > max_syntax_nodes) fail("the host code is too long");
  return &expr;
}

const Expr* HostParser::unsupported(std::string_view what) {
  Expr* expr = make(ExprKind::unsupported, here());
  expr->text = what;
  fail("the launcher uses " + std::string(what) + ", which the interpreter does not know");
  return expr;
}

const Expr* HostParser::parse_expression() {
  const Expr* left = parse_assignment();
  while (!failed_ && is(",")) {
    const TokenIndex at = here();
    advance();
    const Expr* right = parse_assignment();
    Expr* expr = make(ExprKind::binary, at, {left, right});
    expr->text = ",";
    left = expr;
  }
  return left;
}

const Expr* HostParser::parse_assignment() {
  const DepthGuard guard(*this);
  if (!guard.ok) return make(ExprKind::error, here());
  if (is("{")) return parse_braces();
  if (is("throw")) {  // refused only where it is reached: error checks are full of it
    Expr* expr = make(ExprKind::unsupported, here());
    expr->text = "throw";
    advance();
    if (!is(";") && !is(")") && !is(":")) parse_assignment();
    return expr;
  }
  const Expr* left = parse_binary(0);
  if (failed_) return left;
  const TokenIndex at = here();
  if (take("?")) {
    const Expr* first = nullptr;
    {
      const Brackets inside(angle_depth_, in_launch_configuration_);
      first = parse_expression();
    }
    expect(":");
    const Expr* second = parse_assignment();
    return make(ExprKind::ternary, at, {left, first, second});
  }
  std::string_view op;
  std::size_t tokens = 1;
  for (const std::string_view assignment : assignments) {
    if (is(assignment)) op = assignment;
  }
  if (angle_depth_ == 0 && at_joined_close(2) && is("=", 2) && !token(2).space_before) {
    op = ">>=";
    tokens = 3;
  }
  if (op.empty()) return left;
  for (std::size_t i = 0; i < tokens; ++i) advance();
  const Expr* right = parse_assignment();
  Expr* expr = make(ExprKind::assign, at, {left, right});
  expr->text = op;
  return expr;
}

std::string_view HostParser::binary_operator(int* precedence, std::size_t* tokens) const {
  *tokens = 1;
  if (is(">")) {
    if (angle_depth_ > 0) return {};
    if (is("=", 1) && !token(1).space_before) return *tokens = 2, *precedence = 7, ">=";
    if (at_joined_close(2)) {
      if (at_joined_close(3) || (is("=", 2) && !token(2).space_before)) return {};  // the end of <<<...>>>, or >>=
      return *tokens = 2, *precedence = 8, ">>";
    }
    return *precedence = 7, ">";
  }
  for (const Operator& op : binary_operators) {
    if (is(op.text)) return *precedence = op.precedence, op.text == "or" ? "||" : op.text == "and" ? "&&" : op.text;
  }
  return {};
}

const Expr* HostParser::parse_binary(int lowest) {
  const DepthGuard guard(*this);
  if (!guard.ok) return make(ExprKind::error, here());
  const Expr* left = parse_unary();
  while (!failed_) {
    int precedence = 0;
    std::size_t tokens = 0;
    const std::string_view op = binary_operator(&precedence, &tokens);
    if (op.empty() || precedence <= lowest) break;
    const TokenIndex at = here();
    for (std::size_t i = 0; i < tokens; ++i) advance();
    const Expr* right = parse_binary(precedence);
    Expr* expr = make(ExprKind::binary, at, {left, right});
    expr->text = op;
    left = expr;
  }
  return left;
}

const Expr* HostParser::parse_unary() {
  const DepthGuard guard(*this);
  if (!guard.ok) return make(ExprKind::error, here());
  const TokenIndex at = here();
  const bool symbol = token().kind == TokenKind::punctuator || is("not");
  for (const std::string_view op : {"++", "--", "+", "-", "!", "~", "*", "&", "not"}) {
    if (!symbol || !is(op)) continue;
    advance();
    const Expr* operand = parse_unary();
    Expr* expr = make(ExprKind::unary, at, {operand});
    expr->text = op == "not" ? "!" : op;
    return expr;
  }
  if (is("sizeof") || is("alignof")) return parse_sizeof();
  if (is("new") || is("delete")) return unsupported(is("new") ? "new" : "delete");
  return parse_postfix(parse_primary());
}

const Expr* HostParser::parse_sizeof() {
  const TokenIndex at = here();
  const bool align = is("alignof");
  advance();
  if (is("...")) return unsupported("sizeof...");
  if (is("(")) {
    const std::size_t begin = at_;
    advance();
    if (starts_type()) {
      const Brackets inside(angle_depth_, in_launch_configuration_);
      const TypeSyntax* type = parse_type();
      if (!failed_ && take(")")) {
        Expr* expr = make(align ? ExprKind::alignof_type : ExprKind::sizeof_type, at);
        expr->type = type;
        return expr;
      }
    }
    if (failed_) return make(ExprKind::error, at);
    at_ = begin;
  }
  if (align) {
    fail_near("a type");
    return make(ExprKind::error, at);
  }
  return make(ExprKind::sizeof_value, at, {parse_unary()});
}

const Expr* HostParser::parse_postfix(const Expr* operand) {
  while (!failed_) {
    const TokenIndex at = here();
    if (is("<<<")) {
      operand = parse_launch(operand);
    } else if (is("(")) {
      std::vector<const Expr*> children = {operand};
      advance();
      const auto arguments = parse_arguments(")");
      children.insert(children.end(), arguments.begin(), arguments.end());
      operand = make(ExprKind::call, operand->token, std::move(children));
    } else if (is("[")) {
      advance();
      const Brackets inside(angle_depth_, in_launch_configuration_);
      const Expr* index = parse_expression();
      expect("]");
      operand = make(ExprKind::subscript, at, {operand, index});
    } else if (is(".") || is("->")) {
      const bool arrow = is("->");
      advance();
      const bool is_template = take("template");
      const std::string_view member = take_identifier("a member's name");
      Expr* expr = make(ExprKind::member, at, {operand});
      expr->arrow = arrow;
      expr->text = member;
      if (is("<") && (is_template || (program_.uses_torch && is_tensor_template(member)))) {
        expr->name.parts.push_back({member, true, parse_template_arguments()});
      }
      operand = expr;
    } else if (is("++") || is("--")) {
      Expr* expr = make(ExprKind::postfix, at, {operand});
      expr->text = token().text;
      advance();
      operand = expr;
    } else {
      break;
    }
  }
  return operand;
}

std::vector<const Expr*> HostParser::parse_arguments(std::string_view close) {
  const Brackets inside(angle_depth_, in_launch_configuration_);
  std::vector<const Expr*> arguments;
  while (!failed_ && !is(close)) {
    arguments.push_back(parse_assignment());
    if (is("...")) {
      unsupported("a parameter pack");
      break;
    }
    if (arguments.size() > 4096) fail("a list has too many values");
    // AT_DISPATCH_SWITCH(type, "name", AT_DISPATCH_CASE(...) AT_DISPATCH_CASE(...))
    const bool next_case = program_.uses_torch && is_identifier() && token().text.starts_with("AT_DISPATCH_CASE");
    if (!take(",") && !next_case) break;
  }
  expect(close);
  return arguments;
}

const Expr* HostParser::parse_launch(const Expr* callee) {
  std::vector<const Expr*> children = {callee};
  advance();
  {
    const Brackets inside(angle_depth_, in_launch_configuration_);
    in_launch_configuration_ = true;
    while (!failed_ && !at_joined_close(3)) {
      children.push_back(parse_assignment());
      if (!take(",")) break;
    }
  }
  if (!failed_ && !at_joined_close(3)) fail_near("`>>>`");
  for (int i = 0; i < 3; ++i) advance();
  const std::size_t configurations = children.size() - 1;
  expect("(");
  const auto arguments = parse_arguments(")");
  children.insert(children.end(), arguments.begin(), arguments.end());
  Expr* expr = make(ExprKind::launch, callee->token, std::move(children));
  expr->config_count = static_cast<std::uint32_t>(configurations);
  return expr;
}

const Expr* HostParser::parse_braces() {
  const TokenIndex at = here();
  expect("{");
  if (is(".") && is_identifier(1)) return unsupported("a designated initialiser");
  return make(ExprKind::braces, at, parse_arguments("}"));
}

const Expr* HostParser::parse_bracket_or_cast() {
  const TokenIndex at = here();
  const std::size_t begin = at_;
  advance();
  if (starts_type()) {
    const TypeSyntax* type = nullptr;
    {
      const Brackets inside(angle_depth_, in_launch_configuration_);
      type = parse_type();
    }
    if (failed_) return make(ExprKind::error, at);
    if (take(")")) {
      if (is("{")) return parse_construct(type);
      const Expr* operand = parse_unary();
      Expr* expr = make(ExprKind::cast, at, {operand});
      expr->text = "(T)";
      expr->type = type;
      return expr;
    }
    at_ = begin + 1;
  }
  const Brackets inside(angle_depth_, in_launch_configuration_);
  const Expr* expr = parse_expression();
  expect(")");
  return expr;
}

const Expr* HostParser::parse_named_cast() {
  const TokenIndex at = here();
  const std::string_view word = token().text;
  advance();
  expect("<");
  const int outer = angle_depth_;
  angle_depth_ = 1;
  const TypeSyntax* type = parse_type();
  angle_depth_ = outer;
  expect(">");
  expect("(");
  const Expr* operand = nullptr;
  {
    const Brackets inside(angle_depth_, in_launch_configuration_);
    operand = parse_expression();
  }
  expect(")");
  Expr* expr = make(ExprKind::cast, at, {operand});
  expr->text = word;
  expr->type = type;
  return expr;
}

// T(arguments) or T{arguments}, from the bracket on.
const Expr* HostParser::parse_construct(const TypeSyntax* type) {
  const TokenIndex at = type->token;
  const bool braces = is("{");
  if (!braces && !is("(")) {
    fail_near("`(` or `{` after a type");
    return make(ExprKind::error, at);
  }
  advance();
  Expr* expr = make(ExprKind::construct, at, parse_arguments(braces ? "}" : ")"));
  expr->type = type;
  expr->braces = braces;
  return expr;
}

const Expr* HostParser::parse_primary() {
  const TokenIndex at = here();
  const Token& next = token();
  const auto leaf = [&](ExprKind kind) {
    Expr* expr = make(kind, at);
    expr->text = next.text;
    advance();
    return expr;
  };
  if (at_end()) {
    fail_near("an expression");
    return make(ExprKind::error, at);
  }
  if (next.kind == TokenKind::number) return leaf(ExprKind::number);
  if (next.kind == TokenKind::character) return leaf(ExprKind::character);
  if (next.kind == TokenKind::string) {
    Expr* expr = leaf(ExprKind::string);
    while (token().kind == TokenKind::string) advance();
    return expr;
  }
  if (is("true") || is("false")) return leaf(ExprKind::boolean);
  if (is("nullptr")) return leaf(ExprKind::null);
  if (is("this")) return leaf(ExprKind::this_);
  if (is("(")) return parse_bracket_or_cast();
  if (is("[")) return parse_lambda();
  if (is("static_cast") || is("reinterpret_cast") || is("const_cast")) return parse_named_cast();
  for (const std::string_view word : {"typeid", "dynamic_cast", "asm", "co_await", "operator", "requires"}) {
    if (is(word)) return unsupported(word);
  }
  if (starts_type()) {
    const TypeSyntax* type = parse_type_specifier();
    return failed_ ? make(ExprKind::error, at) : parse_construct(type);
  }
  if (is_identifier() || is("::")) {
    Name name = parse_name();
    Expr* expr = make(ExprKind::name, at);
    expr->name = std::move(name);
    return expr;
  }
  fail_near("an expression");
  return make(ExprKind::error, at);
}

const Expr* HostParser::parse_lambda() {
  const TokenIndex at = here();
  const Brackets inside(angle_depth_, in_launch_configuration_);
  LambdaSyntax& lambda = store_.lambdas.emplace_back();
  expect("[");
  while (!failed_ && !is("]")) {
    if ((is("&") || is("=")) && (is(",", 1) || is("]", 1))) {
      lambda.capture_default = token().text[0];
      advance();
    } else if (is("this") || is("*")) {
      return unsupported("a lambda that captures this");
    } else {
      const bool by_reference = take("&");
      lambda.captures.emplace_back(take_identifier("a captured name"), by_reference);
      if (is("=") || is("...")) return unsupported("a lambda with an initialised capture");
    }
    if (!take(",")) break;
  }
  expect("]");
  names_.open();
  bool variadic = false;
  if (is("<")) unsupported("a lambda template");
  if (is("(")) lambda.parameters = parse_parameters(&variadic);
  for (const ParameterSyntax& parameter : lambda.parameters) names_.declare(parameter.name, NameKind::value);
  while (is("mutable") || is("constexpr") || is("noexcept") || is("__host__") || is("__device__")) advance();
  if (take("->")) lambda.result = parse_type();
  if (!is("{")) fail_near("a lambda's body");
  if (!failed_) lambda.body = parse_block();
  names_.close(false);
  Expr* expr = make(ExprKind::lambda, at);
  expr->lambda = &lambda;
  return expr;
}

}  // namespace kw
