// Functions, structs and enums.

#include "kernel/source/host_parser.h"

namespace kw {

// From the name on. Bodies of functions that only the device runs are skipped.
FunctionSyntax* HostParser::parse_function(Specifiers& specifiers, const TypeSyntax* result,
                                           const TemplateSyntax& generic, StructSyntax* owner) {
  FunctionSyntax& function = store_.functions.emplace_back();
  function.scope = scope();
  function.generic = generic;
  function.result = result;
  function.extern_c = specifiers.extern_c;
  function.is_static = specifiers.is_static;
  function.is_constexpr = specifiers.is_constexpr;
  function.anonymous = anonymous_depth_ > 0;
  function.token = here();
  if (is("operator")) {
    function.name = token().text;
    advance();
    if (is("(") && is(")", 1)) at_ += 2;
    while (!failed_ && !at_end() && !is("(")) advance();
  } else {
    take("~");
    const Name name = [&] {
      Name qualified;
      while (!failed_) {
        NamePart part;
        part.name = take_identifier("a function's name");
        qualified.parts.push_back(part);
        if (!is("::")) break;
        advance();
      }
      return qualified;
    }();
    if (failed_) return &function;
    if (name.parts.size() > 1 && owner == nullptr) {
      fail("a member function is defined outside of its struct", "define it inside");
      return &function;
    }
    function.name = name.parts.back().name;
  }
  if (is("<")) {
    function.specialised = parse_template_arguments();
    function.is_specialisation = true;
  }
  if (generic.present && generic.parameters.empty()) function.is_specialisation = true;
  if (!is("(")) {
    fail_near("`(`");
    return &function;
  }
  names_.open();
  function.parameters = parse_parameters(&function.variadic);
  for (const ParameterSyntax& parameter : function.parameters) names_.declare(parameter.name, NameKind::value);
  while (!failed_ && !at_end()) {
    if (is("const") || is("override") || is("final") || is("&") || is("volatile")) {
      advance();
    } else if (take("->")) {
      function.result = parse_type();
    } else if (!parse_specifier(specifiers)) {
      break;
    }
  }
  function.is_global = specifiers.is_global;
  function.is_device = specifiers.is_device;
  function.is_host = specifiers.is_host;
  function.launch_bounds = specifiers.launch_bounds;
  if (is(":") && owner != nullptr) parse_member_initialisers(function);
  if (is("{")) {
    function.has_body = true;
    const bool device_only = function.is_global || (function.is_device && !function.is_host && !function.is_constexpr);
    if (device_only) {
      skip_balanced();
    } else {
      parse_body(function);
    }
  } else if (take("=")) {  // = default, = delete
    while (!failed_ && !at_end() && !is(";")) advance();
  }
  names_.close(false);
  return &function;
}

// An error inside a body is kept for the day when somebody calls the function.
void HostParser::parse_body(FunctionSyntax& function) {
  const std::size_t close = matching_close(at_);
  if (close >= end_) return fail("syntax error: the body of `" + std::string(function.name) + "` is not closed");
  const std::size_t outer_end = end_;
  const int outer_angles = angle_depth_;
  angle_depth_ = 0;
  end_ = close + 1;
  function.body = parse_block();
  if (failed_) {
    function.body_error = error_;
    function.body = nullptr;
    failed_ = work_left_ == 0;
  }
  angle_depth_ = outer_angles;
  end_ = outer_end;
  at_ = failed_ ? end_ : close + 1;
}

void HostParser::parse_member_initialisers(FunctionSyntax& function) {
  expect(":");
  while (!failed_) {
    const std::string_view member = take_identifier("a member's name");
    const bool braces = is("{");
    if (!braces && !is("(")) return fail_near("`(`");
    advance();
    function.member_initialisers.emplace_back(member, parse_arguments(braces ? "}" : ")"));
    if (!take(",")) return;
  }
}

// C's `typedef struct Shape_ { ... } Shape;`, also of an enum, with or without the first name. False: another typedef.
bool HostParser::parse_record_alias() {
  std::size_t open = at_ + 2;
  while (open < end_ && !program_.tokens[open].is("{") && !program_.tokens[open].is(";")) {
    open = program_.tokens[open].is("(") ? std::max(matching_close(open), open + 1) : open + 1;
  }
  const bool record = is("struct", 1) || is("class", 1) || is("union", 1) || is("enum", 1);
  if (!record || open >= end_ || !program_.tokens[open].is("{")) return false;
  const std::size_t close = matching_close(open);
  if (close + 1 >= end_) return false;
  const Token& behind = program_.tokens[close + 1];
  const std::string_view only_name = behind.kind == TokenKind::identifier ? behind.text : std::string_view();
  advance();
  std::string_view name;
  if (is("enum")) {
    const EnumSyntax* enumeration = parse_enum(only_name);
    if (!failed_) program_.enums.push_back(enumeration);
    name = enumeration->name;
  } else {
    const StructSyntax* structure = parse_struct({}, only_name);
    if (!failed_) program_.structs.push_back(structure);
    name = structure->name;
  }
  while (!failed_ && !is(";")) {
    TypeSyntax& type = store_.types.emplace_back();
    type.base = TypeSyntax::Base::name;
    type.token = here();
    type.name.parts.push_back({.name = name, .has_arguments = false, .arguments = {}});
    parse_pointers(type);
    AliasSyntax& alias = store_.aliases.emplace_back();
    alias.scope = scope();
    alias.token = here();
    alias.name = take_identifier("a name");
    parse_arrays(type);
    alias.type = &type;
    if (!failed_ && alias.name != name) {
      program_.aliases.push_back(&alias);
      member_types_.push_back(alias.name);
    }
    if (!take(",")) break;
  }
  return true;
}

StructSyntax* HostParser::parse_struct(const TemplateSyntax& generic, std::string_view only_name) {
  StructSyntax& structure = store_.structs.emplace_back();
  const DepthGuard guard(*this);
  if (!guard.ok) return &structure;
  structure.scope = scope();
  structure.generic = generic;
  structure.is_union = is("union");
  advance();
  Specifiers specifiers;
  parse_attributes(specifiers);
  structure.alignment = specifiers.alignment;
  structure.token = here();
  structure.name = is("{") && !only_name.empty() ? only_name : take_identifier("a struct's name");
  names_.declare(structure.name, generic.present ? NameKind::type_template : NameKind::type);
  if (is("<")) {
    structure.specialised = parse_template_arguments();
    structure.is_specialisation = true;
  }
  take("final");
  if (is(":")) {
    structure.has_base = true;
    while (!failed_ && !at_end() && !is("{")) advance();
  }
  parse_braces([&] {
    parse_member(structure);
    if (structure.fields.size() + structure.constants.size() + structure.functions.size() > max_members) {
      fail("a struct has too many members");
    }
  });
  return &structure;
}

void HostParser::parse_member(StructSyntax& structure) {
  if (take(";")) return;
  if ((is("public") || is("private") || is("protected")) && is(":", 1)) {
    at_ += 2;
    return;
  }
  if (take("static_assert")) {
    skip_balanced();
    return;
  }
  if (is("using") || is("typedef")) {
    const AliasSyntax* alias = parse_alias();
    structure.aliases.push_back(alias);
    member_types_.push_back(alias->name);
    return;
  }
  const bool defines = is("{", 1) || is("{", 2) || is(":", 2) || is("{", 3);
  if (is("enum") && defines) {
    const EnumSyntax* enumeration = parse_enum();
    structure.enums.push_back(enumeration);
    if (!enumeration->name.empty()) member_types_.push_back(enumeration->name);
    expect(";");
    return;
  }
  if ((is("struct") || is("class") || is("union")) && defines) {
    structure.unknown = "a nested struct";
    while (!failed_ && !is("{")) advance();
    skip_balanced();
    while (!failed_ && !take(";")) advance();
    return;
  }
  names_.open();
  TemplateSyntax generic;
  if (take("template")) generic = parse_template_head();
  Specifiers specifiers;
  parse_attributes(specifiers);
  if (specifiers.is_virtual) structure.has_virtual = true;
  const bool special = (is_identifier() && token().text == structure.name && is("(", 1)) || is("~") || is("operator");
  const TypeSyntax* type = nullptr;
  bool function = special;
  if (!special) {
    TypeSyntax* specifier = parse_type_specifier();
    type = specifier;
    parse_attributes(specifiers);
    std::size_t ahead = 0;
    while (is("*", ahead) || is("&", ahead) || is("const", ahead)) ++ahead;
    function = is("operator", ahead) || (is_identifier(ahead) && is("(", ahead + 1));
    if (function) parse_pointers(*specifier);
  }
  if (function) {
    const FunctionSyntax* member = parse_function(specifiers, type, generic, &structure);
    if (!failed_) structure.functions.push_back(member);
    names_.close(false);
    return;
  }
  std::vector<VariableSyntax> variables;
  parse_variables(*type, variables, specifiers.is_static, specifiers.is_constexpr);
  if (is(":")) fail("a struct has a bit field", "");
  expect(";");
  names_.close(false);
  for (VariableSyntax& variable : variables) {
    (variable.is_static ? structure.constants : structure.fields).push_back(variable);
  }
}

EnumSyntax* HostParser::parse_enum(std::string_view only_name) {
  EnumSyntax& enumeration = store_.enums.emplace_back();
  enumeration.scope = scope();
  enumeration.token = here();
  expect("enum");
  if (is("class") || is("struct")) {
    enumeration.scoped = true;
    advance();
  }
  enumeration.name = is_identifier() ? take_identifier("a name") : only_name;
  if (!enumeration.name.empty()) names_.declare(enumeration.name, NameKind::type);
  if (take(":")) enumeration.underlying = parse_type();
  if (is(";")) return &enumeration;
  expect("{");
  while (!failed_ && !is("}")) {
    const std::string_view name = take_identifier("an enumerator");
    const Expr* value = nullptr;
    if (take("=")) value = parse_assignment();
    enumeration.enumerators.emplace_back(name, value);
    if (enumeration.enumerators.size() > 4096) fail("an enum has too many enumerators");
    if (!take(",")) break;
  }
  expect("}");
  return &enumeration;
}

}  // namespace kw
