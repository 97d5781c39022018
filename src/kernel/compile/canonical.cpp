#include "kernel/compile/canonical.h"

#include "kernel/compile/implicit_names.h"
#include "kernel/source/extension_file.h"
#include "kernel/source/lexer.h"

namespace kw {
namespace {

// Tokens that mean something else on a line of their own, or that the lexer splits and the compiler does not.
bool belongs_to_previous(const Token& previous, const Token& token) {
  // A stray `#` must stay an error; at the beginning of a line it would be a directive.
  if (token.is("#") || token.is("##")) return true;
  if (token.space_before) return false;
  // User-defined literals: "text"_suffix.
  if (token.kind == TokenKind::identifier) {
    return previous.kind == TokenKind::string || previous.kind == TokenKind::character;
  }
  // Digraphs: <: :> <% %>. The fifth, %:, is not joined, because it would begin a directive.
  if (previous.is("<")) return token.is(":") || token.is("%");
  return token.is(">") && (previous.is(":") || previous.is("%"));
}

class Printer {
 public:
  explicit Printer(std::size_t source_bytes, std::size_t tokens) {
    out_.text.reserve(source_bytes + tokens);
    out_.lines.positions.reserve(tokens);
  }

  // In front of the user's first line, and not in the user's file.
  void include(std::string_view header) {
    out_.lines.positions.push_back({0, 0});
    out_.text.append("#include <").append(header).append(">\n");
  }

  void token(const Token& token, const Token* previous) {
    if (previous != nullptr && belongs_to_previous(*previous, token)) {
      out_.text.pop_back();
      if (token.space_before) out_.text.push_back(' ');
    } else {
      mark(token);
    }
    append(token);
    out_.text.push_back('\n');
    // A raw string may hold new lines. The compiler counts them, so the map has to.
    if (token.kind != TokenKind::string) return;
    for (const char c : token.text) {
      if (c == '\n') mark(token);
    }
  }

  void directive(const Token& directive, const TokenStream& stream) {
    const auto inner = stream.inside(directive);
    // `#line 7 "file"` and `# 7 "file"` would move the positions that we map.
    if (inner.empty() || inner[0].is("line") || inner[0].kind == TokenKind::number) return;
    mark(directive);
    if (inner.size() == 2 && inner[0].is("include") && inner[1].text.size() > 2 &&
        is_torch_header(inner[1].text.substr(1, inner[1].text.size() - 2))) {
      out_.text.append("#include <kw_torch.h>\n");  // all that device code can use of them
      return;
    }
    out_.text.push_back('#');
    bool first = true;
    for (const Token& token : inner) {
      // `#define f (x)` and `#define f(x)` differ, so one blank stays wherever the user had any.
      if (!first && token.space_before) out_.text.push_back(' ');
      first = false;
      append(token);
      for (const char c : token.text) {
        if (c == '\n') mark(directive);
      }
    }
    out_.text.push_back('\n');
  }

  CanonicalSource take() { return std::move(out_); }

 private:
  void append(const Token& token) {
    if (token.kind == TokenKind::identifier && is_host_compiler_macro(token.text)) {
      out_.text.append(host_compiler_prefix);
    }
    out_.text.append(token.text);
  }

  void mark(const Token& token) { out_.lines.positions.push_back({token.line, token.column}); }

  CanonicalSource out_;
};

// An open quote may stand in text that #if 0 removes, and the compiler has good words for it; the rest would change the
// meaning of what follows.
bool is_left_to_compiler(const Error& error) {
  return error.message == "a string is not closed" || error.message == "a character constant is not closed";
}

}  // namespace

Result<CanonicalSource> canonicalise(std::string_view source, std::string_view file_name) {
  // nvcc ignores a byte order mark.
  if (source.substr(0, 3) == "\xEF\xBB\xBF") source.remove_prefix(3);
  const TokenStream stream = lex(source, file_name);
  for (const Error& error : stream.errors) {
    if (!is_left_to_compiler(error)) return error;
  }
  Printer printer(source.size(), stream.tokens.size());
  for (const std::string_view header : implicit_headers(stream)) printer.include(header);
  const Token* previous = nullptr;
  for (const Token& token : stream.tokens) {
    if (token.kind == TokenKind::directive) {
      printer.directive(token, stream);
      previous = nullptr;
      continue;
    }
    // Alone at the end of a line it would swallow the next token.
    if (token.is("\\")) return Error{"a stray backslash", "remove it", position_of(token, file_name)};
    printer.token(token, previous);
    previous = &token;
  }
  return printer.take();
}

}  // namespace kw
