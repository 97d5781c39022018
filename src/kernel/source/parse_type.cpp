// Names, types, parameter lists and template heads.

#include "kernel/source/host_parser.h"

namespace kw {
namespace {

bool is_type_word(std::string_view word) {
  return word == "void" || word == "bool" || word == "char" || word == "short" || word == "int" || word == "long" ||
         word == "float" || word == "double" || word == "signed" || word == "unsigned";
}

bool is_qualifier(std::string_view word) {
  return word == "const" || word == "volatile" || word == "__restrict__" || word == "__restrict" || word == "constexpr";
}

}  // namespace

bool HostParser::names_template(std::string_view name) const {
  const NameKind kind = names_.find(name);
  return kind == NameKind::type_template || kind == NameKind::value_template;
}

Name HostParser::parse_name(bool of_type) {
  Name name;
  const DepthGuard guard(*this);
  if (!guard.ok) return name;
  name.global = take("::");
  while (true) {
    take("template");
    NamePart part;
    part.name = take_identifier("a name");
    if (failed_) return name;
    if (is("<") && (of_type || names_template(part.name))) {
      part.has_arguments = true;
      part.arguments = parse_template_arguments();
    }
    name.parts.push_back(std::move(part));
    if (!is("::") || (!is_identifier(1) && !is("template", 1))) return name;
    advance();
  }
}

std::vector<TemplateArgument> HostParser::parse_template_arguments() {
  std::vector<TemplateArgument> arguments;
  expect("<");
  const int outer = angle_depth_;
  angle_depth_ = 1;
  while (!failed_ && !is(">")) {
    arguments.push_back(parse_template_argument());
    if (!take(",")) break;
  }
  angle_depth_ = outer;
  expect(">");
  return arguments;
}

TemplateArgument HostParser::parse_template_argument() {
  TemplateArgument argument;
  const std::size_t begin = at_;
  if (starts_type()) {
    argument.type = parse_type();
    if (failed_ || is(",") || is(">")) return argument;
    at_ = begin;  // a value that begins with a type: sizeof is not one, but `int(4)` and `Mode::fast` are
    argument.type = nullptr;
  }
  argument.value = parse_assignment();
  return argument;
}

bool HostParser::names_type(const Name& name) const {
  if (name.parts.empty()) return false;
  const NamePart& last = name.parts.back();
  // at::ScalarType::Half is a value, at::Half is a type.
  if (name.parts.size() > 1 && name.parts[name.parts.size() - 2].name == "ScalarType") return false;
  const NameKind kind = names_.find(last.name);
  return kind == NameKind::type || (kind == NameKind::type_template && last.has_arguments);
}

// Looks ahead without changing anything.
bool HostParser::starts_type() {
  const Token& next = token();
  if (next.kind != TokenKind::identifier && !is("::")) return false;
  if (is_type_word(next.text) || is_qualifier(next.text)) return true;
  if (is("typename") || is("auto") || is("decltype") || is("struct") || is("enum") || is("class")) return true;
  if (!is("::") && !is_identifier()) return false;
  // Most names are values and are decided at once.
  if (is_identifier() && !is("::", 1) && !is("<", 1)) return names_.find(next.text) == NameKind::type;
  if (failed_) return false;
  const std::size_t begin = at_;
  const Name name = parse_name();
  const bool result = !failed_ && names_type(name);
  if (failed_ && work_left_ > 0) failed_ = false;
  at_ = begin;
  return result;
}

// A type that is followed by `(`, `{` or `::` begins an expression: float(n), dim3{1}, Mode::fast.
bool HostParser::starts_declaration() {
  if (!starts_type()) return false;
  if (!is("::") && !is_identifier() && !is_type_word(token().text)) return true;
  const std::size_t begin = at_;
  parse_type_specifier();
  const bool declares = !failed_ && !is("(") && !is("{") && !is("::") && !is(")");
  // float (*kernel)(int) declares.
  const bool pointer = !failed_ && is("(") && is("*", 1);
  if (failed_ && work_left_ > 0) failed_ = false;
  at_ = begin;
  return declares || pointer;
}

TypeSyntax* HostParser::parse_type_specifier() {
  TypeSyntax& type = store_.types.emplace_back();
  type.token = here();
  const DepthGuard guard(*this);
  if (!guard.ok) return &type;
  int longs = 0, shorts = 0, chars = 0, ints = 0, signs = 0, unsigns = 0;
  std::string_view word;
  bool named = false;
  while (!failed_) {
    const std::string_view text = token().text;
    if (token().kind != TokenKind::identifier && !is("::")) break;
    if (text == "const") {
      type.is_const = true;
    } else if (text == "volatile") {
      type.is_volatile = true;
    } else if (text == "typename" || text == "struct" || text == "enum" || text == "class" || text == "constexpr" ||
               text == "__grid_constant__") {
    } else if (!named && text == "auto") {
      type.base = TypeSyntax::Base::automatic;
      named = true;
    } else if (!named && text == "decltype") {
      advance();
      type.base = TypeSyntax::Base::type_of;
      named = true;
      expect("(");
      const int outer = angle_depth_;
      angle_depth_ = 0;
      type.operand = parse_expression();
      angle_depth_ = outer;
      expect(")");
      continue;
    } else if (!named && is_type_word(text)) {
      longs += text == "long";
      shorts += text == "short";
      chars += text == "char";
      ints += text == "int";
      signs += text == "signed";
      unsigns += text == "unsigned";
      if (word.empty() || text == "float" || text == "double" || text == "bool" || text == "void") word = text;
    } else if (!named && word.empty() && (is("::") || is_identifier())) {
      type.name = parse_name(true);
      type.base = TypeSyntax::Base::name;
      named = true;
      continue;
    } else {
      break;
    }
    advance();
  }
  if (!named) {
    if (word.empty()) {
      fail_near("a type");
      return &type;
    }
    const bool u = unsigns > 0;
    static_cast<void>(ints);
    using B = TypeKind;
    if (word == "void")
      type.builtin = B::void_;
    else if (word == "bool")
      type.builtin = B::bool_;
    else if (word == "float")
      type.builtin = B::float_;
    else if (word == "double")
      type.builtin = B::double_;
    else if (chars > 0)
      type.builtin = u ? B::uchar : signs > 0 ? B::schar : B::char_;
    else if (shorts > 0)
      type.builtin = u ? B::ushort : B::short_;
    else if (longs > 1)
      type.builtin = u ? B::ulonglong : B::longlong;
    else if (longs > 0)
      type.builtin = u ? B::ulong : B::long_;
    else
      type.builtin = u ? B::uint : B::int_;
  }
  return &type;
}

void HostParser::parse_pointers(TypeSyntax& type) {
  using Kind = TypeSyntax::Suffix::Kind;
  while (!failed_) {
    if (is("*") || is("&") || is("&&")) {
      const Kind kind = is("*") ? Kind::pointer : is("&") ? Kind::lvalue_reference : Kind::rvalue_reference;
      advance();
      type.suffixes.push_back({kind});
      if (type.suffixes.size() > 16) return fail("a type has too many levels of pointers");
    } else if (is("const") && !type.suffixes.empty()) {
      advance();
      type.suffixes.back().is_const = true;
    } else if (is("const") || is("volatile") || is("__restrict__") || is("__restrict") || is("__grid_constant__")) {
      if (is("const")) type.is_const = true;
      advance();
    } else if (is("...")) {
      type.is_pack = true;
      advance();
    } else {
      return;
    }
  }
}

// int a[2][3] is an array of 2 arrays of 3: the last bracket applies first.
void HostParser::parse_arrays(TypeSyntax& type) {
  std::vector<TypeSyntax::Suffix> arrays;
  while (!failed_ && is("[") && !is("[", 1)) {
    advance();
    const int outer = angle_depth_;
    angle_depth_ = 0;
    arrays.push_back({TypeSyntax::Suffix::Kind::array, false, is("]") ? nullptr : parse_assignment()});
    angle_depth_ = outer;
    expect("]");
    if (arrays.size() > 4) return fail("an array has too many dimensions");
  }
  type.suffixes.insert(type.suffixes.end(), arrays.rbegin(), arrays.rend());
}

// `void (*name)(int)` or `void (*)(int)`, from the bracket on; the parameters are not kept.
bool HostParser::parse_function_pointer(TypeSyntax& type, std::string_view* name) {
  if (!is("(") || !is("*", 1)) return false;
  advance();
  advance();
  take("const");
  if (is_identifier()) {
    *name = token().text;
    advance();
  }
  expect(")");
  if (!is("(")) {
    fail_near("`(`");
    return true;
  }
  skip_balanced();
  type.suffixes.push_back({TypeSyntax::Suffix::Kind::function_pointer});
  return true;
}

const TypeSyntax* HostParser::parse_type() {
  TypeSyntax* type = parse_type_specifier();
  parse_pointers(*type);
  std::string_view name;
  if (parse_function_pointer(*type, &name) && !name.empty()) fail_near("a type without a name");
  parse_arrays(*type);
  return type;
}

std::vector<ParameterSyntax> HostParser::parse_parameters(bool* variadic) {
  std::vector<ParameterSyntax> parameters;
  expect("(");
  const int outer = angle_depth_;
  angle_depth_ = 0;
  if (is("void") && is(")", 1)) advance();
  while (!failed_ && !is(")")) {
    if (take("...")) {
      *variadic = true;
      break;
    }
    while (is("[") && is("[", 1)) skip_balanced();
    ParameterSyntax parameter;
    TypeSyntax* type = parse_type_specifier();
    parse_pointers(*type);
    parameter.token = here();
    if (!parse_function_pointer(*type, &parameter.name) && is_identifier()) {
      parameter.name = token().text;
      advance();
    }
    parse_arrays(*type);
    for (TypeSyntax::Suffix& suffix : type->suffixes) {  // an array parameter is a pointer
      if (suffix.kind == TypeSyntax::Suffix::Kind::array && &suffix == &type->suffixes.back()) {
        suffix = {TypeSyntax::Suffix::Kind::pointer};
      }
    }
    parameter.type = type;
    if (take("=")) parameter.initial = parse_assignment();
    parameters.push_back(parameter);
    if (parameters.size() > 256) fail("a function has too many parameters");
    if (!take(",")) break;
  }
  angle_depth_ = outer;
  expect(")");
  return parameters;
}

TemplateSyntax HostParser::parse_template_head() {
  TemplateSyntax generic;
  generic.present = true;
  expect("<");
  const int outer = angle_depth_;
  angle_depth_ = 1;
  while (!failed_ && !is(">")) {
    TemplateParameter parameter;
    const bool type_parameter = (is("typename") || is("class")) && !is("::", 2);
    if (is("template")) {
      parameter.is_template = true;
      advance();
      while (!failed_ && !is("class") && !is("typename")) advance();
      advance();
      if (is_identifier()) parameter.name = take_identifier("a name");
    } else if (type_parameter) {
      advance();
      parameter.is_pack = take("...");
      if (is_identifier()) parameter.name = take_identifier("a name");
      if (take("=")) parameter.default_type = parse_type();
    } else {
      TypeSyntax* type = parse_type_specifier();
      parse_pointers(*type);
      parameter.value_type = type;
      parameter.is_pack = type->is_pack;
      if (!parse_function_pointer(*type, &parameter.name) && is_identifier()) {
        parameter.name = take_identifier("a name");
      }
      if (take("=")) parameter.default_value = parse_assignment();
    }
    if (!parameter.name.empty()) {
      names_.declare(parameter.name, parameter.value_type != nullptr ? NameKind::value
                                     : parameter.is_template         ? NameKind::type_template
                                                                     : NameKind::type);
    }
    generic.parameters.push_back(parameter);
    if (generic.parameters.size() > max_template_parameters) fail("a template has too many parameters");
    if (!take(",")) break;
  }
  angle_depth_ = outer;
  expect(">");
  return generic;
}

}  // namespace kw
