#include "kernel/source/preprocess.h"

#include "kernel/source/condition.h"
#include "kernel/source/macro.h"

namespace kw {
namespace {

// One #if ... #endif.
struct Conditional {
  Token begin;
  bool outer_live = true;  // the lines around it are read
  bool taken = false;      // one of its branches was
  bool live = false;       // the present branch is read
  bool seen_else = false;
};

class Preprocessor {
 public:
  Preprocessor(const TokenStream& stream, const PreprocessLimits& limits)
      : stream_(stream),
        limits_(limits),
        expander_(macros_, result_.made, stream.file, limits.max_tokens, limits.max_depth) {}

  Result<PreprocessedSource> run() && {
    const MacroExpander::Source source = [this] { return next_of_file(); };
    while (true) {
      KW_TRY(auto token, expander_.next(source));
      if (!token) break;
      if (token->is("_Pragma")) {
        KW_TRY_VOID(skip_pragma_operator(source, *token));
        continue;
      }
      result_.tokens.push_back(*token);
      if (result_.tokens.size() > limits_.max_tokens) return fail("the file has too many tokens", *token);
    }
    if (!conditionals_.empty()) return fail("an #if is not closed", conditionals_.back().begin);
    return std::move(result_);
  }

 private:
  Error fail(std::string message, const Token& at) const {
    return Error{std::move(message), "", position_of(at, stream_.file)};
  }

  bool live() const { return conditionals_.empty() || conditionals_.back().live; }

  Result<void> skip_pragma_operator(const MacroExpander::Source& source, const Token& at) {
    for (const std::string_view expected : {"(", "", ")"}) {
      KW_TRY(auto token, expander_.next(source));
      const bool good = token && (expected.empty() ? token->kind == TokenKind::string : token->is(expected));
      if (!good) return fail("_Pragma takes one string", at);
    }
    return {};
  }

  Result<std::optional<Token>> next_of_file() {
    while (at_ < stream_.tokens.size()) {
      const Token& token = stream_.tokens[at_++];
      if (token.kind == TokenKind::directive) {
        KW_TRY_VOID(obey(token));
      } else if (live()) {
        return std::optional<Token>(token);
      }
    }
    return std::optional<Token>();
  }

  Result<void> obey(const Token& directive) {
    const std::span<const Token> inside = stream_.inside(directive);
    if (inside.empty()) return {};
    const std::string_view name = inside[0].text;
    const auto rest = inside.subspan(1);
    if (name == "if" || name == "ifdef" || name == "ifndef") return open_conditional(directive, name, rest);
    if (name == "elif" || name == "else" || name == "endif") return change_conditional(directive, name, rest);
    if (!live()) return {};
    if (name == "define") {
      if (rest.empty()) return fail("#define without a name", directive);
      KW_TRY(Macro macro, read_macro(rest, stream_.file));
      macros_.define(std::move(macro));
      return {};
    }
    if (name == "undef") {
      if (rest.empty()) return fail("#undef without a name", directive);
      macros_.undefine(rest[0].text);
      return {};
    }
    if (name == "include" || name == "include_next" || name == "import") return include(directive, rest);
    if (name == "error") return fail("#error: " + text_of(rest), directive);
    if (name == "pragma" || name == "line" || name == "warning" || inside[0].kind == TokenKind::number) return {};
    return fail("unknown directive #" + std::string(name.substr(0, 40)), directive);
  }

  static std::string text_of(std::span<const Token> tokens) {
    std::string text;
    for (const Token& token : tokens) {
      if (!text.empty() && token.space_before) text += ' ';
      text += token.text;
      if (text.size() > 200) break;
    }
    return text.substr(0, 200);
  }

  Result<void> open_conditional(const Token& directive, std::string_view name, std::span<const Token> rest) {
    if (conditionals_.size() >= static_cast<std::size_t>(limits_.max_depth)) {
      return fail("#if is nested too deeply", directive);
    }
    Conditional conditional;
    conditional.begin = directive;
    conditional.outer_live = live();
    if (conditional.outer_live) {
      if (name == "if") {
        KW_TRY(conditional.live, condition(directive, rest));
      } else {
        if (rest.empty()) return fail("#" + std::string(name) + " without a name", directive);
        conditional.live = macros_.contains(rest[0].text) == (name == "ifdef");
      }
      conditional.taken = conditional.live;
    }
    conditionals_.push_back(conditional);
    return {};
  }

  Result<void> change_conditional(const Token& directive, std::string_view name, std::span<const Token> rest) {
    if (conditionals_.empty()) return fail("#" + std::string(name) + " without #if", directive);
    Conditional& conditional = conditionals_.back();
    if (name == "endif") {
      conditionals_.pop_back();
      return {};
    }
    if (conditional.seen_else) return fail("#" + std::string(name) + " after #else", directive);
    conditional.live = false;
    if (name == "else") conditional.seen_else = true;
    if (!conditional.outer_live || conditional.taken) return {};
    if (name == "else") {
      conditional.live = true;
    } else {
      KW_TRY(conditional.live, condition(directive, rest));
    }
    conditional.taken = conditional.live;
    return {};
  }

  // Decides `defined` before macros are expanded, as the standard has it.
  Result<bool> condition(const Token& directive, std::span<const Token> rest) {
    std::vector<Token> decided;
    for (std::size_t i = 0; i < rest.size(); ++i) {
      if (!rest[i].is("defined")) {
        decided.push_back(rest[i]);
        continue;
      }
      const bool bracket = i + 1 < rest.size() && rest[i + 1].is("(");
      const std::size_t at = i + (bracket ? 2 : 1);
      const bool closed = !bracket || (at + 1 < rest.size() && rest[at + 1].is(")"));
      if (at >= rest.size() || rest[at].kind != TokenKind::identifier || !closed) {
        return fail("`defined` needs a name", rest[i]);
      }
      Token value = rest[i];
      value.kind = TokenKind::number;
      value.text = macros_.contains(rest[at].text) ? "1" : "0";
      decided.push_back(value);
      i = at + (bracket ? 1 : 0);
    }
    KW_TRY(const auto expanded, expander_.expand(decided));
    return evaluate_condition(expanded, directive, stream_.file);
  }

  Result<void> include(const Token& directive, std::span<const Token> rest) {
    if (rest.empty()) return fail("#include without a file", directive);
    std::vector<Token> name(rest.begin(), rest.end());
    if (name[0].kind != TokenKind::header_name && name[0].kind != TokenKind::string) {
      KW_TRY(name, expander_.expand(rest));
    }
    if (name.empty()) return fail("#include without a file", directive);
    std::string text(name[0].text);
    const bool angled = text.front() == '<';
    if (name[0].kind == TokenKind::punctuator && angled) {  // a macro that gave < cuda_fp16 . h >
      for (std::size_t i = 1; i < name.size(); ++i) text += name[i].text;
    }
    if (text.size() < 3 || (angled ? text.back() != '>' : text.front() != '"' || text.back() != '"')) {
      return fail("#include needs <file> or \"file\"", directive);
    }
    result_.includes.push_back({text.substr(1, text.size() - 2), angled, position_of(directive, stream_.file)});
    return {};
  }

  const TokenStream& stream_;
  PreprocessLimits limits_;
  PreprocessedSource result_;
  MacroTable macros_;
  MacroExpander expander_;
  std::vector<Conditional> conditionals_;
  std::size_t at_ = 0;
};

}  // namespace

Result<PreprocessedSource> preprocess(const TokenStream& stream, const PreprocessLimits& limits) {
  return Preprocessor(stream, limits).run();
}

}  // namespace kw
