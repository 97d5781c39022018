#include "kernel/source/host_syntax.h"

#include <array>

namespace kw {
namespace {

constexpr std::array<std::string_view, 15> builtin_names = {
    "void",         "bool", "char",          "signed char", "unsigned char",      "short", "unsigned short", "int",
    "unsigned int", "long", "unsigned long", "long long",   "unsigned long long", "float", "double"};

// Template arguments that are not plain names or numbers are not worth a printer.
std::string print_value(const Expr& expr) {
  switch (expr.kind) {
    case ExprKind::name:
      return print(expr.name);
    case ExprKind::number:
    case ExprKind::boolean:
    case ExprKind::character:
    case ExprKind::string:
      return std::string(expr.text);
    case ExprKind::binary:
      return print_value(*expr.children[0]) + " " + std::string(expr.text) + " " + print_value(*expr.children[1]);
    case ExprKind::sizeof_type:
      return "sizeof(" + print(*expr.type) + ")";
    default:
      return "...";
  }
}

}  // namespace

std::string print(const Name& name) {
  std::string text = name.global ? "::" : "";
  for (const NamePart& part : name.parts) {
    if (&part != &name.parts.front()) text += "::";
    text += part.name;
    if (!part.has_arguments) continue;
    text += '<';
    for (const TemplateArgument& argument : part.arguments) {
      if (&argument != &part.arguments.front()) text += ", ";
      text += argument.type != nullptr ? print(*argument.type) : print_value(*argument.value);
    }
    text += '>';
  }
  return text;
}

std::string print(const TypeSyntax& type) {
  std::string text = type.is_const ? "const " : "";
  switch (type.base) {
    case TypeSyntax::Base::builtin:
      text += builtin_names[static_cast<std::size_t>(type.builtin)];
      break;
    case TypeSyntax::Base::name:
      text += print(type.name);
      break;
    case TypeSyntax::Base::automatic:
      text += "auto";
      break;
    case TypeSyntax::Base::type_of:
      text += "decltype(...)";
      break;
  }
  using Kind = TypeSyntax::Suffix::Kind;
  for (const TypeSyntax::Suffix& suffix : type.suffixes) {
    switch (suffix.kind) {
      case Kind::pointer:
        text += suffix.is_const ? "* const" : "*";
        break;
      case Kind::lvalue_reference:
        text += "&";
        break;
      case Kind::rvalue_reference:
        text += "&&";
        break;
      case Kind::array:
        text += suffix.count != nullptr ? "[" + print_value(*suffix.count) + "]" : "[]";
        break;
      case Kind::function_pointer:
        text += " (*)(...)";
        break;
    }
  }
  if (type.is_pack) text += "...";
  return text;
}

std::string describe(const Expr& expr) {
  switch (expr.kind) {
    case ExprKind::error:
      return "an unreadable expression";
    case ExprKind::number:
      return "the number " + std::string(expr.text.substr(0, 40));
    case ExprKind::string:
      return "a string";
    case ExprKind::character:
      return "a character constant";
    case ExprKind::boolean:
      return std::string(expr.text);
    case ExprKind::null:
      return "nullptr";
    case ExprKind::this_:
      return "this";
    case ExprKind::name:
      return "`" + print(expr.name).substr(0, 80) + "`";
    case ExprKind::unary:
    case ExprKind::postfix:
    case ExprKind::binary:
      return "the operator " + std::string(expr.text);
    case ExprKind::assign:
      return "an assignment";
    case ExprKind::ternary:
      return "the operator ?:";
    case ExprKind::call:
      return "a call";
    case ExprKind::launch:
      return "a kernel launch";
    case ExprKind::subscript:
      return "the operator []";
    case ExprKind::member:
      return "the member " + std::string(expr.text);
    case ExprKind::cast:
      return "a cast";
    case ExprKind::construct:
      return "a value of type " + print(*expr.type).substr(0, 80);
    case ExprKind::braces:
      return "a list in braces";
    case ExprKind::sizeof_type:
    case ExprKind::sizeof_value:
      return "sizeof";
    case ExprKind::alignof_type:
      return "alignof";
    case ExprKind::lambda:
      return "a lambda";
    case ExprKind::unsupported:
      return std::string(expr.text);
  }
  return "an expression";
}

}  // namespace kw
