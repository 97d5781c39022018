// Declarations at file and namespace level. Each is first outlined by its brackets and keywords alone, which always
// works and decides what the device compiler sees; then it is read in full, and a failure stays with that declaration.

#include <algorithm>
#include <unordered_set>

#include "kernel/source/host_parser.h"

namespace kw {
namespace {

bool takes_bracket(std::string_view word) {
  return word == "__launch_bounds__" || word == "__attribute__" || word == "alignas" || word == "__align__" ||
         word == "decltype" || word == "__cluster_dims__" || word == "__maxnreg__" || word == "__block_size__" ||
         word == "noexcept" || word == "explicit" || word == "__builtin_align__" || word == "__declspec";
}

// Of the standard library, what no device code can use: `using std::cout;` is for the host's compiler.
bool is_of_host_library(std::string_view name) {
  static const std::unordered_set<std::string_view> names = {"accumulate",
                                                             "begin",
                                                             "cerr",
                                                             "cin",
                                                             "clog",
                                                             "cout",
                                                             "copy",
                                                             "deque",
                                                             "end",
                                                             "endl",
                                                             "fill",
                                                             "fixed",
                                                             "flush",
                                                             "for_each",
                                                             "fstream",
                                                             "generate",
                                                             "ifstream",
                                                             "iota",
                                                             "istream",
                                                             "list",
                                                             "make_shared",
                                                             "make_unique",
                                                             "map",
                                                             "mt19937",
                                                             "multimap",
                                                             "multiset",
                                                             "mutex",
                                                             "ofstream",
                                                             "ostream",
                                                             "ostringstream",
                                                             "priority_queue",
                                                             "queue",
                                                             "random_device",
                                                             "set",
                                                             "setprecision",
                                                             "setw",
                                                             "shared_ptr",
                                                             "sort",
                                                             "stack",
                                                             "stoi",
                                                             "stringstream",
                                                             "thread",
                                                             "to_string",
                                                             "transform",
                                                             "uniform_real_distribution",
                                                             "unique_ptr",
                                                             "unordered_map",
                                                             "unordered_set",
                                                             "vector",
                                                             "stof",
                                                             "istringstream",
                                                             "normal_distribution",
                                                             "uniform_int_distribution",
                                                             "exception",
                                                             "runtime_error",
                                                             "invalid_argument",
                                                             "ios"};
  return names.contains(name);
}

}  // namespace

void HostParser::parse_file() {
  while (!at_end()) {
    parse_declarations(false);
    if (!at_end()) advance();  // a `}` too many: left to the compiler
  }
  if (failed_) program_.unread.push_back({{}, error_});
}

void HostParser::parse_declarations(bool inside_braces) {
  const DepthGuard guard(*this);
  if (!guard.ok) return;
  while (!at_end() && !is("}")) {
    if (take(";")) continue;
    if (is("namespace") || (is("inline") && is("namespace", 1))) {
      parse_namespace();
    } else if (is("extern") && token(1).kind == TokenKind::string && is("{", 2)) {
      const bool outer = extern_c_;
      extern_c_ = true;
      at_ += 3;
      parse_declarations(true);
      extern_c_ = outer;
    } else {
      parse_one_declaration();
    }
  }
  if (inside_braces) take("}");
}

void HostParser::parse_namespace() {
  take("inline");
  advance();
  const std::size_t depth = scope_.size();
  while (is_identifier()) {
    scope_.push_back(token().text);
    advance();
    if (!take("::")) break;
    take("inline");
  }
  const bool anonymous = scope_.size() == depth;
  while (!at_end() && (is("[") || is("__attribute__"))) {
    if (is("__attribute__")) advance();
    skip_balanced();
  }
  if (take("{")) {
    if (anonymous) ++anonymous_depth_;
    names_.open();
    parse_declarations(true);
    names_.close(true);
    if (anonymous) --anonymous_depth_;
  } else {  // an alias: namespace cg = cooperative_groups;
    while (!at_end() && !take(";")) advance();
  }
  scope_.resize(depth);
}

// From `<` to behind its `>`, by counting; shifts and comparisons in template heads stand in brackets.
std::size_t HostParser::skip_angles(std::size_t open) const {
  int depth = 0;
  for (std::size_t i = open; i < end_; ++i) {
    const std::string_view text = program_.tokens[i].text;
    if (text == "(" || text == "[" || text == "{") i = matching_close(i);
    if (text == "<") ++depth;
    if (text == ">" && --depth == 0) return i + 1;
    if (text == ";") return i;
  }
  return end_;  // looking again from the next `<` would take quadratic time
}

void HostParser::outline_function(Outline& result, std::size_t bracket) const {
  const std::vector<Token>& tokens = program_.tokens;
  if (bracket == at_) return;
  std::size_t name = bracket - 1;
  if (tokens[name].is(">")) {  // a specialisation: f<float>(
    int depth = 0;
    for (int looked = 0; name > at_ && looked < 1000; ++looked) {
      if (tokens[name].is(">")) ++depth;
      if (tokens[name].is("<") && --depth == 0) break;
      --name;
    }
    if (name > at_) --name;
  }
  if (tokens[name].kind != TokenKind::identifier || is_keyword(tokens[name].text)) return;
  result.is_function = true;
  result.name = tokens[name].text;
}

HostParser::Outline HostParser::outline() const {
  const std::vector<Token>& tokens = program_.tokens;
  Outline result;
  bool assigned = false, pointer = false, record = false;
  std::size_t i = at_;
  for (; i < end_; ++i) {
    const std::string_view text = tokens[i].text;
    if (tokens[i].kind == TokenKind::string || tokens[i].kind == TokenKind::character) continue;
    if (text == ";" || text == "}") break;
    if (text == "template") {
      if (i + 1 < end_ && tokens[i + 1].is("<")) {
        result.is_template = true;
        i = skip_angles(i + 1) - 1;
      }
    } else if (takes_bracket(text) && i + 1 < end_ && tokens[i + 1].is("(")) {
      i = matching_close(i + 1);
    } else if (text == "operator" && !assigned) {
      result.is_function = true;
      result.name = text;
      if (i + 2 < end_ && tokens[i + 1].is("(") && tokens[i + 2].is(")")) i += 2;
      while (i + 1 < end_ && !tokens[i + 1].is("(") && !tokens[i + 1].is(";")) ++i;
    } else if (text == "(" || text == "[") {
      if (text == "(" && !assigned && !result.is_function && !record) outline_function(result, i);
      if (matching_close(i) < end_) i = matching_close(i);  // one that is never closed hides nothing
    } else if (text == "{") {
      const std::size_t close = matching_close(i);
      if (result.is_function && !assigned) {
        result.has_body = true;
        result.end = std::min(close + 1, end_);
        return result;
      }
      if (record) result.is_type = true;
      i = close;
    } else if (text == "=") {
      const bool names_variable = !assigned && !record && result.name.empty() && i > at_;
      if (names_variable && tokens[i - 1].kind == TokenKind::identifier) result.name = tokens[i - 1].text;
      assigned = true;
      result.is_lambda = i + 1 < end_ && tokens[i + 1].is("[");
    } else if (tokens[i].kind == TokenKind::identifier && !assigned) {
      if (text == "__global__") result.is_global = true;
      if (text == "__device__") result.is_device = true;
      if (text == "__host__") result.is_host = true;
      if (text == "constexpr" || text == "consteval") result.is_constexpr = result.is_const = true;
      if (text == "const") result.is_const = true;
      if (text == "__device__" || text == "__constant__" || text == "__managed__" || text == "__shared__") {
        result.is_memory = true;
      }
      if (text == "using" || text == "typedef" || text == "static_assert" || text == "friend") result.is_type = true;
      if (text == "struct" || text == "class" || text == "union" || text == "enum") record = true;
      if ((record || text == "using") && result.name.empty() && !is_keyword(text)) result.name = text;
      if (text == "using" && i + 1 < end_) result.name = tokens[i + 1].text;
    } else if (text == "*" || text == "&") {
      pointer = !assigned;
      result.is_const = result.is_const && (result.is_constexpr || !pointer);
    }
  }
  if (record && !result.is_function && !assigned) result.is_type = true;  // struct X;
  result.end = std::min(i + (i < end_ && tokens[i].is(";") ? 1 : 0), end_);
  return result;
}

// Decides which compiler sees the declaration.
void HostParser::record_range(const Outline& outline, std::size_t begin) {
  const std::vector<Token>& tokens = program_.tokens;
  HostRange range{tokens[begin].offset, tokens[begin].end_offset(), static_cast<TokenIndex>(begin)};
  for (std::size_t i = begin; i < outline.end; ++i) {  // macros may leave tokens out of order
    range.begin = std::min(range.begin, tokens[i].offset);
    range.end = std::max(range.end, tokens[i].end_offset());
  }
  bool host = false;
  const auto behind_std = [&](std::size_t at, std::string_view name) {
    return at + 3 < outline.end && tokens[at].is("std") && tokens[at + 1].is("::") && tokens[at + 2].is(name) &&
           tokens[at + 3].is(";");
  };
  if (outline.is_type) {
    host = begin + 4 < outline.end && tokens[begin].is("using") && tokens[begin + 1].is("std") &&
           tokens[begin + 2].is("::") && tokens[begin + 4].is(";") && is_of_host_library(tokens[begin + 3].text);
    host = host || (begin + 5 < outline.end && tokens[begin].is("using") && tokens[begin + 1].is("namespace") &&
                    behind_std(begin + 2, "chrono"));
  } else if (outline.is_function) {
    const bool entry = outline.name == "launch" || outline.name == "main";
    host = !outline.is_global && !outline.is_device && (!outline.is_constexpr || outline.is_host || entry);
  } else {
    host = !outline.is_memory && (!outline.is_const || outline.is_lambda);
  }
  (host ? program_.host_ranges : program_.device_ranges).push_back(range);
}

void HostParser::parse_one_declaration() {
  const std::size_t begin = at_;
  const bool linkage = is("extern") && token(1).kind == TokenKind::string;
  if (linkage) at_ += 2;
  Outline shape = outline();
  if (shape.end <= begin) shape.end = begin + 1;
  record_range(shape, begin);
  if (!shape.name.empty() && (shape.is_template || shape.is_type)) {
    names_.declare(shape.name, shape.is_type && shape.is_template ? NameKind::type_template
                               : shape.is_type                    ? NameKind::type
                                                                  : NameKind::value_template);
  }
  const std::size_t outer_end = end_;
  end_ = shape.end;
  names_.open();
  read_declaration(shape, linkage || extern_c_);
  names_.close(false);
  if (failed_ && program_.unread.size() < 50) program_.unread.push_back({shape.name, error_});
  failed_ = work_left_ == 0;
  end_ = outer_end;
  at_ = failed_ ? end_ : shape.end;
  for (const std::string_view name : member_types_) names_.declare(name, NameKind::type);
  member_types_.clear();
}

void HostParser::read_declaration(const Outline& outline, bool extern_c) {
  if (is("asm") || is("friend")) return;
  if (is("PYBIND11_MODULE") || token().text.starts_with("TORCH_LIBRARY")) return parse_exports();
  TemplateSyntax generic;
  while (is("template")) {
    advance();
    if (!is("<")) return;  // an explicit instantiation adds nothing
    generic = parse_template_head();
  }
  if (is("typedef") && parse_record_alias()) return;
  if (is("using") || is("typedef")) {
    if (is("using") && !is("=", 2)) return parse_using();
    const AliasSyntax* alias = parse_alias();
    if (failed_) return;
    store_.aliases.back().generic = generic;
    program_.aliases.push_back(alias);
    names_.declare(alias->name, NameKind::type);
    member_types_.push_back(generic.present ? std::string_view() : alias->name);
    return;
  }
  if (take("static_assert")) {
    expect("(");
    const Expr* condition = parse_assignment();
    if (!failed_) program_.static_asserts.emplace_back(condition, scope());
    return;
  }
  Specifiers specifiers;
  specifiers.extern_c = extern_c;
  parse_attributes(specifiers);
  if (outline.is_type && is("enum")) {
    EnumSyntax* enumeration = parse_enum();
    if (!failed_) program_.enums.push_back(enumeration);
    return;
  }
  if (outline.is_type && (is("struct") || is("class") || is("union"))) {
    if (is(";", 2)) return;  // a forward declaration
    StructSyntax* structure = parse_struct(generic);
    if (!failed_) program_.structs.push_back(structure);
    return;
  }
  parse_function_or_variables(outline, std::move(specifiers), generic);
}

// PYBIND11_MODULE(NAME, m) { m.def("forward", &forward, "help"); } by its tokens: what else stands there does not
// matter.
void HostParser::parse_exports() {
  advance();
  const std::size_t close = matching_close(at_);
  if (!is("(") || close >= end_ || close <= at_ + 1) return;
  const std::string_view module = program_.tokens[close - 1].text;
  constexpr std::size_t max_exports = 64;
  for (at_ = close + 1; !at_end() && program_.exports.size() < max_exports; advance()) {
    const bool exports = is(module) && is(".", 1) && (is("def", 2) || is("impl", 2)) && is("(", 3);
    if (!exports || token(4).kind != TokenKind::string || !is(",", 5)) continue;
    ExportedFunction exported;
    exported.token = here();
    const std::string_view quoted = token(4).text;
    if (quoted.size() >= 2) exported.python_name = quoted.substr(1, quoted.size() - 2);
    std::size_t ahead = is("&", 6) ? 7 : 6;
    for (std::size_t wrap = ahead; is_identifier(wrap) && wrap < ahead + 6; ++wrap) {  // torch::wrap_pybind_function(f)
      if (is("wrap_pybind_function", wrap) && is("(", wrap + 1)) ahead = wrap + (is("&", wrap + 2) ? 3 : 2);
      if (is("::", wrap + 1)) ++wrap;
    }
    while (is_identifier(ahead)) {
      exported.function += token(ahead).text;
      if (!is("::", ahead + 1)) break;
      exported.function += "::";
      ahead += 2;
    }
    const bool plain = is(",", ahead + 1) || is(")", ahead + 1);
    if (!plain) exported.function.clear();
    program_.exports.push_back(std::move(exported));
  }
}

void HostParser::parse_using() {
  advance();
  if (program_.used_namespaces.size() + program_.used_names.size() >= max_using_declarations) {
    return fail("the file has too many using-declarations");
  }
  if (take("namespace")) {
    const Name name = parse_name();
    if (!failed_) program_.used_namespaces.push_back(print(name));
  } else {
    const Name name = parse_name(true);
    if (!failed_) program_.used_names.push_back({std::string(name.parts.back().name), print(name), scope()});
  }
}

bool HostParser::parse_specifier(Specifiers& specifiers) {
  const std::string_view word = token().text;
  if (is("[") && is("[", 1)) {
    skip_balanced();
    return true;
  }
  if (token().kind != TokenKind::identifier) return false;
  if (word == "static")
    specifiers.is_static = true;
  else if (word == "constexpr" || word == "consteval")
    specifiers.is_constexpr = true;
  else if (word == "__global__")
    specifiers.is_global = true;
  else if (word == "__device__")
    specifiers.is_device = true;
  else if (word == "__host__")
    specifiers.is_host = true;
  else if (word == "__constant__" || word == "__managed__" || word == "__shared__")
    specifiers.is_memory = true;
  else if (word == "virtual")
    specifiers.is_virtual = true;
  else if (word == "extern") {
    if (token(1).kind == TokenKind::string) {
      specifiers.extern_c = true;
      advance();
    }
  } else if (word == "__launch_bounds__") {
    advance();
    if (is("(")) {
      advance();
      specifiers.launch_bounds = parse_arguments(")");
    }
    return true;
  } else if (word == "alignas" || word == "__align__") {
    if (is("(", 1) && token(2).kind == TokenKind::number && is(")", 3) && token(2).text.size() < 6) {
      specifiers.alignment = 0;
      for (const char c : token(2).text) {
        if (c >= '0' && c <= '9')
          specifiers.alignment = specifiers.alignment * 10 + static_cast<std::uint32_t>(c - '0');
      }
    }
    advance();
    if (is("(")) skip_balanced();
    return true;
  } else if (takes_bracket(word) && word != "decltype") {
    advance();
    if (is("(")) skip_balanced();
    return true;
  } else if (word != "inline" && word != "__forceinline__" && word != "__noinline__" && word != "__inline__" &&
             word != "__inline" && word != "mutable" && word != "explicit" && word != "thread_local" &&
             word != "friend" && word != "__extension__") {
    return false;
  }
  advance();
  return true;
}

void HostParser::parse_attributes(Specifiers& specifiers) {
  while (!failed_ && parse_specifier(specifiers)) {
  }
}

void HostParser::parse_function_or_variables(const Outline& outline, Specifiers specifiers,
                                             const TemplateSyntax& generic) {
  TypeSyntax* type = parse_type_specifier();
  parse_attributes(specifiers);
  const bool late_const = is("const");
  if (outline.is_function) {
    parse_pointers(*type);
    parse_attributes(specifiers);
    const std::size_t begin = at_;
    // `dim3 block(256);` looks like a function but for what stands in the brackets.
    FunctionSyntax* function = parse_function(specifiers, type, generic, nullptr);
    if (!failed_ && (outline.has_body || is(";") || at_end())) {
      program_.functions.push_back(function);
      return;
    }
    if (outline.has_body || work_left_ == 0) return;
    failed_ = false;
    at_ = begin;
  }
  std::vector<VariableSyntax> variables;
  parse_variables(*type, variables, specifiers.is_static, specifiers.is_constexpr);
  if (failed_) return;
  for (VariableSyntax& variable : variables) {
    GlobalVariable global;
    global.scope = scope();
    global.is_constant = specifiers.is_constexpr || late_const || outline.is_const;
    global.is_device = specifiers.is_device || specifiers.is_memory;
    global.generic = generic;
    global.variable = std::move(variable);
    program_.variables.push_back(std::move(global));
  }
}

}  // namespace kw
