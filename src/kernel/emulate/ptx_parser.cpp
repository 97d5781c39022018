#include "kernel/emulate/ptx_parser.h"

#include <utility>

#include "kernel/emulate/ptx_parser_state.h"

namespace kw {
namespace {

constexpr std::string_view unsupported_prefix = "the emulator does not support ";

bool set_error(PtxParser& parser, std::uint32_t line, std::uint32_t column, std::string message) {
  if (parser.error.message.empty()) {
    parser.error.message = std::move(message);
    parser.error.where = {"PTX", static_cast<int>(line), static_cast<int>(column)};
  }
  return false;
}

std::string described(const PtxToken& token) {
  return token.kind == PtxTokenKind::end ? "the end of the text" : quoted_ptx(token.text);
}

// Bytes between braces: `.section .debug_str { ... }`, after `.section`.
bool skip_section(PtxParser& parser) {
  PtxLexer& lexer = parser.lexer;
  if (lexer.current().kind != PtxTokenKind::dotted && !lexer.current().is_identifier())
    return fail(parser, "expected the name of a section");
  lexer.advance();
  if (!expect(parser, '{')) return false;
  while (!lexer.current().is('}')) {
    const PtxTokenKind kind = lexer.current().kind;
    if (kind == PtxTokenKind::end || kind == PtxTokenKind::invalid || lexer.current().is('{'))
      return expect(parser, '}');
    lexer.advance();
  }
  lexer.advance();
  return true;
}

// `.file 1 "name", timestamp, size`, after `.file`.
bool parse_file(PtxParser& parser) {
  PtxLexer& lexer = parser.lexer;
  std::uint64_t index = 0;
  if (!expect_count(parser, "the number of a file", 0x7FFFFFFF, index)) return false;
  const PtxToken name = lexer.current();
  if (name.kind != PtxTokenKind::string) return fail(parser, "expected the name of a file");
  lexer.advance();
  parser.lines.add_file(static_cast<std::uint32_t>(index), name.text.substr(1, name.text.size() - 2));
  for (int i = 0; i < 2 && accept(parser, ','); ++i) {
    std::uint64_t ignored = 0;
    if (!expect_count(parser, "a time or size of a file", ~std::uint64_t{0}, ignored)) return false;
  }
  return true;
}

bool parse_place(PtxParser& parser, PtxPlace& place) {
  for (std::uint32_t* part : {&place.file, &place.line, &place.column}) {
    if (part == &place.column && parser.lexer.current().kind != PtxTokenKind::integer) break;
    std::uint64_t value = 0;
    if (!expect_count(parser, "a file, line and column", 0x7FFFFFFF, value)) return false;
    *part = static_cast<std::uint32_t>(value);
  }
  return true;
}

// `.alias new, old;`, after `.alias`.
bool parse_alias(PtxParser& parser) {
  std::string_view texts[2];
  int indices[2];
  for (int i = 0; i < 2; ++i) {
    const PtxToken at = parser.lexer.current();
    if (!expect_identifier(parser, "the name of a function", texts[i])) return false;
    const PtxName* name = parser.module_names.find(texts[i]);
    if (!name || name->kind != PtxNameKind::function) {
      return fail(parser, at, "function " + quoted_ptx(texts[i]) + " is not declared");
    }
    indices[i] = name->index;
    if (i == 0 && !expect(parser, ',')) return false;
  }
  PtxFunction& alias = parser.module.functions[static_cast<std::size_t>(indices[0])];
  const PtxFunction& meant = parser.module.functions[static_cast<std::size_t>(indices[1])];
  if (!alias.external) return fail(parser, "an alias cannot have a body");
  if (meant.external) return fail(parser, "an alias must stand for a function with a body");
  alias.alias_of = meant.name;
  alias.external = false;
  return expect(parser, ';');
}

bool parse_header(PtxParser& parser, std::string_view directive) {
  PtxLexer& lexer = parser.lexer;
  const PtxToken at = lexer.current();
  if (directive == ".version") {
    if (at.kind != PtxTokenKind::floating && at.kind != PtxTokenKind::integer)
      return fail(parser, "expected the version of PTX");
    parser.module.version = at.text;
    lexer.advance();
  } else if (directive == ".target") {
    std::string_view text;
    if (!expect_identifier(parser, "a target", text)) return false;
    parser.module.target = text;
    while (accept(parser, ',')) {  // texmode_independent, debug, ...
      if (!expect_identifier(parser, "an option of the target", text)) return false;
    }
  } else {
    std::uint64_t bits = 0;
    if (!expect_count(parser, "32 or 64", 64, bits)) return false;
    if (bits != 64) return fail_unsupported(parser, at, "addresses of other than 64 bits");
  }
  return true;
}

bool parse_module_statement(PtxParser& parser) {
  PtxLexer& lexer = parser.lexer;
  PtxLinkage linkage;
  while (true) {
    const PtxToken token = lexer.current();
    if (token.is_dotted(".extern"))
      linkage.external = true;
    else if (!token.is_dotted(".visible") && !token.is_dotted(".weak") && !token.is_dotted(".common"))
      break;
    lexer.advance();
  }
  const PtxToken token = lexer.current();
  if ((token.is('@') && lexer.followed_by('@')) || token.is('#')) {  // @@DWARF and line marks of old compilers
    lexer.skip_line();
    return true;
  }
  if (token.is(';')) {
    lexer.advance();
    return true;
  }
  if (token.kind != PtxTokenKind::dotted) return fail(parser, "expected a declaration instead of " + described(token));
  if (token.text == ".entry" || token.text == ".func") return parse_function(parser, token.text == ".entry");
  if (token.text == ".param") return fail(parser, "parameters belong to a function");
  if (declared_space(token)) return parse_variables(parser, nullptr, linkage);
  lexer.advance();
  if (token.text == ".version" || token.text == ".target" || token.text == ".address_size")
    return parse_header(parser, token.text);
  if (token.text == ".file") return parse_file(parser);
  if (token.text == ".loc") return parse_location(parser);
  if (token.text == ".section") return skip_section(parser);
  if (token.text == ".pragma") return skip_to_semicolon(parser);
  if (token.text == ".alias") return parse_alias(parser);
  if (token.text == ".texref" || token.text == ".samplerref" || token.text == ".surfref" || token.text == ".tex") {
    return fail_unsupported(parser, token, "textures and surfaces (" + std::string(token.text) + ")");
  }
  return fail(parser, token, quoted_ptx(token.text) + " is not expected here");
}

// Until here origin.line is the number of a .loc, counted from 1.
void set_origins(PtxModule& module, const std::vector<PtxPlace>& places) {
  for (PtxFunction& function : module.functions) {
    PtxPlace before;
    for (PtxInstruction& instruction : function.body) {
      PtxOrigin& origin = instruction.origin;
      const PtxPlace here = origin.line > 0 ? places[origin.line - 1] : PtxPlace{};
      if (here.line > 0) before = here;
      origin.line = before.line;
      origin.column = before.column;
    }
  }
}

}  // namespace

bool fail(PtxParser& parser, const PtxToken& at, std::string message) {
  return set_error(parser, at.line, parser.lexer.column_of(at), std::move(message));
}

bool fail(PtxParser& parser, std::string message) {
  const PtxToken& token = parser.lexer.current();
  if (token.kind == PtxTokenKind::invalid) return fail(parser, token, std::string(token.text));
  return fail(parser, token, std::move(message));
}

bool fail_at_line(PtxParser& parser, std::uint32_t line, std::string message) {
  return set_error(parser, line, 0, std::move(message));
}

bool fail_unsupported(PtxParser& parser, const PtxToken& at, std::string message) {
  return fail(parser, at, std::string(unsupported_prefix) + std::move(message));
}

bool expect(PtxParser& parser, char punctuation) {
  if (accept(parser, punctuation)) return true;
  return fail(parser, std::string("expected '") + punctuation + "' instead of " + described(parser.lexer.current()));
}

bool accept(PtxParser& parser, char punctuation) {
  if (!parser.lexer.current().is(punctuation)) return false;
  parser.lexer.advance();
  return true;
}

bool expect_identifier(PtxParser& parser, std::string_view what, std::string_view& text) {
  const PtxToken& token = parser.lexer.current();
  if (!token.is_identifier()) return fail(parser, "expected " + std::string(what) + " instead of " + described(token));
  text = token.text;
  parser.lexer.advance();
  return true;
}

bool expect_count(PtxParser& parser, std::string_view what, std::uint64_t most, std::uint64_t& value) {
  const PtxToken& token = parser.lexer.current();
  if (token.kind != PtxTokenKind::integer)
    return fail(parser, "expected " + std::string(what) + " instead of " + described(token));
  if (token.number > most)
    return fail(parser, quoted_ptx(token.text) + " is too large: at most " + std::to_string(most));
  value = token.number;
  parser.lexer.advance();
  return true;
}

bool skip_to_semicolon(PtxParser& parser) {
  PtxLexer& lexer = parser.lexer;
  while (!lexer.current().is(';')) {
    const PtxToken& token = lexer.current();
    if (token.kind == PtxTokenKind::end || token.kind == PtxTokenKind::invalid || token.is('{') || token.is('}')) {
      return expect(parser, ';');
    }
    lexer.advance();
  }
  lexer.advance();
  return true;
}

bool skip_parentheses(PtxParser& parser) {
  if (!expect(parser, '(')) return false;
  for (std::size_t depth = 1; depth > 0; parser.lexer.advance()) {
    const PtxToken& token = parser.lexer.current();
    if (token.kind == PtxTokenKind::end || token.kind == PtxTokenKind::invalid || token.is(';'))
      return expect(parser, ')');
    if (token.is('(')) ++depth;
    if (token.is(')')) --depth;
  }
  return true;
}

bool parse_location(PtxParser& parser) {
  PtxLexer& lexer = parser.lexer;
  PtxPlace place;
  PtxPlace inlined_at;
  bool inlined = false;
  if (!parse_place(parser, place)) return false;
  while (accept(parser, ',')) {
    std::string_view text;
    if (!expect_identifier(parser, "function_name or inlined_at", text)) return false;
    if (text == "inlined_at") {
      inlined = true;
      if (!parse_place(parser, inlined_at)) return false;
    } else if (text == "function_name") {
      std::int64_t ignored = 0;
      if (!expect_identifier(parser, "the label of a function's name", text)) return false;
      if (lexer.current().is('+') && !parse_integer_constant(parser, ignored)) return false;
    } else {
      return fail(parser, quoted_ptx(text) + " is not expected in a .loc");
    }
  }
  parser.location = parser.lines.add(place, inlined ? &inlined_at : nullptr);
  return true;
}

Result<PtxModule> parse_ptx(std::string_view text, std::string_view user_file) {
  if (text.size() > max_ptx_text_bytes) return Error{"the PTX text is larger than 512 MiB", "", {"PTX", 0, 0}};
  // NVRTC's PTX is a C string; its size may count the terminating zero.
  if (!text.empty() && text.back() == '\0') text.remove_suffix(1);
  PtxParser parser(text);
  while (parser.lexer.current().kind != PtxTokenKind::end) {
    if (!parse_module_statement(parser)) return std::move(parser.error);
  }
  if (parser.module.version.empty()) return Error{"this is not PTX: it has no .version", "", {"PTX", 0, 0}};
  set_origins(parser.module, parser.lines.resolve(user_file));
  return std::move(parser.module);
}

bool is_unsupported_ptx(const Error& error) { return error.message.starts_with(unsupported_prefix); }

}  // namespace kw
