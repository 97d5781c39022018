#include "kernel/source/macro.h"

#include <algorithm>

#include "kernel/source/predefined_macros.h"

namespace kw {
namespace {

// `##` binds before anything else is looked at, so an operand of it is not expanded.
bool is_paste(const Token& token) { return token.is("##") && token.kind == TokenKind::punctuator; }

}  // namespace

std::shared_ptr<const Macro> MacroTable::find(std::string_view name) const {
  if (const auto own = macros_.find(name); own != macros_.end()) return own->second;
  static const TokenStream stream = lex(predefined_text, "predefined");
  static const auto predefined = [] {
    std::unordered_map<std::string_view, std::shared_ptr<const Macro>> macros;
    for (const Token& directive : stream.tokens) {
      Macro macro = read_macro(stream.inside(directive).subspan(1), stream.file).value();
      const std::string_view macro_name = macro.name;
      macros[macro_name] = std::make_shared<const Macro>(std::move(macro));
    }
    return macros;
  }();
  const auto found = predefined.find(name);
  return found == predefined.end() ? nullptr : found->second;
}

void MacroTable::define(Macro macro) {
  const std::string_view name = macro.name;
  macros_[name] = std::make_shared<const Macro>(std::move(macro));
}

Result<Macro> read_macro(std::span<const Token> tokens, std::string_view file) {
  const auto fail = [&](std::string message, const Token& at) {
    return Error{std::move(message), "", position_of(at, file)};
  };
  KW_CHECK(!tokens.empty());
  if (tokens[0].kind != TokenKind::identifier) return fail("a macro's name must be an identifier", tokens[0]);
  if (tokens[0].is("defined")) return fail("`defined` cannot be a macro's name", tokens[0]);
  Macro macro;
  macro.name = tokens[0].text;
  std::size_t at = 1;
  if (at < tokens.size() && tokens[at].is("(") && !tokens[at].space_before) {
    macro.function_like = true;
    ++at;
    while (at < tokens.size() && !tokens[at].is(")")) {
      if (macro.variadic) return fail("nothing may follow `...` in a macro's parameters", tokens[at]);
      if (macro.parameters.size() >= 256) return fail("a macro has too many parameters", tokens[at]);
      if (tokens[at].is("...")) {
        macro.variadic = true;
        macro.parameters.push_back("__VA_ARGS__");
        ++at;
      } else if (tokens[at].kind == TokenKind::identifier) {
        macro.parameters.push_back(tokens[at++].text);
        if (at < tokens.size() && tokens[at].is("...")) {  // GNU: args...
          macro.variadic = true;
          ++at;
        }
      } else {
        return fail("a macro's parameter must be an identifier", tokens[at]);
      }
      if (at < tokens.size() && tokens[at].is(",")) {
        ++at;
      } else if (at >= tokens.size() || !tokens[at].is(")")) {
        return fail("expected `,` or `)` in a macro's parameters", tokens[std::min(at, tokens.size() - 1)]);
      }
    }
    if (at >= tokens.size()) return fail("a macro's parameter list is not closed", tokens[0]);
    ++at;
  }
  macro.body.assign(tokens.begin() + static_cast<std::ptrdiff_t>(at), tokens.end());
  if (!macro.body.empty() && (is_paste(macro.body.front()) || is_paste(macro.body.back()))) {
    return fail("`##` cannot stand at either end of a macro", tokens[0]);
  }
  return macro;
}

std::string_view MacroExpander::keep(std::string text) { return made_.emplace_back(std::move(text)); }

Error MacroExpander::too_much(const Token& token) const {
  return Error{"macro expansion produces too many tokens", "use fewer or smaller macros", position_of(token, file_)};
}

Result<std::optional<Token>> MacroExpander::next(const Source& source) {
  main_.source = &source;
  KW_TRY(auto token, next_expanded(main_, 0));
  if (!token) return std::optional<Token>();
  return std::optional<Token>(token->token);
}

Result<std::vector<Token>> MacroExpander::expand(std::span<const Token> tokens) {
  std::vector<PlainToken> plain;
  for (const Token& token : tokens) plain.push_back({token});
  KW_TRY(auto expanded, expand_all(std::move(plain), 0));
  std::vector<Token> result;
  for (const PlainToken& token : expanded) result.push_back(token.token);
  return result;
}

Result<std::vector<MacroExpander::PlainToken>> MacroExpander::expand_all(std::vector<PlainToken> tokens, int depth) {
  Reader reader;
  reader.contexts.push_back({std::move(tokens), 0, nullptr, nullptr});
  std::vector<PlainToken> result;
  while (true) {
    KW_TRY(auto token, next_expanded(reader, depth));
    if (!token) return result;
    result.push_back(*token);
  }
}

Result<std::optional<MacroExpander::PlainToken>> MacroExpander::read(Reader& reader) {
  if (reader.pushed_back) {
    std::optional<PlainToken> token;
    token.swap(reader.pushed_back);
    return token;
  }
  while (!reader.contexts.empty()) {
    Context& context = reader.contexts.back();
    if (context.at < context.tokens.size()) {
      const PlainToken token = context.tokens[context.at++];
      if (work_left_ == 0) return too_much(token.token);
      --work_left_;
      return std::optional<PlainToken>(token);
    }
    reader.contexts.pop_back();
  }
  if (reader.source == nullptr) return std::optional<PlainToken>();
  KW_TRY(auto token, (*reader.source)());
  if (!token) return std::optional<PlainToken>();
  if (work_left_ == 0) return too_much(*token);
  --work_left_;
  return std::optional<PlainToken>(PlainToken{*token});
}

std::optional<Token> MacroExpander::expand_special(const Token& token) {
  Token result = token;
  if (token.is("__LINE__")) {
    result.kind = TokenKind::number;
    result.text = keep(std::to_string(token.line));
  } else if (token.is("__COUNTER__")) {
    result.kind = TokenKind::number;
    result.text = keep(std::to_string(counter_++));
  } else if (token.is("__FILE__")) {
    result.kind = TokenKind::string;
    result.text = "\"kernel.cu\"";
  } else {
    return std::nullopt;
  }
  return result;
}

Result<std::optional<MacroExpander::PlainToken>> MacroExpander::next_expanded(Reader& reader, int depth) {
  while (true) {
    KW_TRY(auto next, read(reader));
    if (!next || next->frozen || next->token.kind != TokenKind::identifier) return next;
    const std::shared_ptr<const Macro> macro = macros_.find(next->token.text);
    if (macro == nullptr) {
      if (const auto special = expand_special(next->token)) return std::optional<PlainToken>(PlainToken{*special});
      return next;
    }
    const bool active = std::any_of(reader.contexts.begin(), reader.contexts.end(),
                                    [&](const Context& context) { return context.macro == macro.get(); });
    if (active) {
      next->frozen = true;
      return next;
    }
    if (depth > max_depth_ || reader.contexts.size() > 1000) {
      return Error{"macros are nested too deeply", "", position_of(next->token, file_)};
    }
    Token invocation = next->token;
    Arguments arguments;
    if (macro->function_like) {
      KW_TRY(auto read, read_arguments(reader, *macro, invocation));
      if (!read) return next;  // without brackets an ordinary name, for now
      arguments = std::move(*read);
    }
    KW_TRY(auto body, substitute(*macro, arguments, invocation, depth));
    if (!body.empty()) {
      body.front().token.space_before = next->token.space_before;
      body.front().token.line_start = next->token.line_start;
    }
    if (body.size() > work_left_) return too_much(next->token);
    work_left_ -= body.size();
    reader.contexts.push_back({std::move(body), 0, macro.get(), macro});
  }
}

// Reads `( ... , ... )`; nothing if the name is not followed by `(`. Extends the invocation's range to the `)`.
Result<std::optional<MacroExpander::Arguments>> MacroExpander::read_arguments(Reader& reader, const Macro& macro,
                                                                              Token& invocation) {
  KW_TRY(auto open, read(reader));
  if (!open || !open->token.is("(")) {
    reader.pushed_back = open;
    return std::optional<Arguments>();
  }
  Arguments arguments(1);
  int nested = 0;
  while (true) {
    KW_TRY(auto next, read(reader));
    if (!next) {
      return Error{"the arguments of macro " + std::string(macro.name) + " are not closed", "",
                   position_of(invocation, file_)};
    }
    const Token& token = next->token;
    const bool rest = macro.variadic && arguments.size() == macro.parameters.size();
    if (token.is("(")) ++nested;
    if (token.is(")") && nested-- == 0) {
      if (token.end_offset() > invocation.end_offset()) invocation.bytes = token.end_offset() - invocation.offset;
      break;
    }
    if (token.is(",") && nested == 0 && !rest) {
      arguments.emplace_back();
    } else {
      arguments.back().push_back(*next);
    }
  }
  if (macro.parameters.empty() && arguments.size() == 1 && arguments[0].empty()) arguments.clear();
  if (macro.variadic && arguments.size() + 1 == macro.parameters.size()) arguments.emplace_back();
  if (arguments.size() != macro.parameters.size()) {
    return Error{"macro " + std::string(macro.name) + " takes " + std::to_string(macro.parameters.size()) +
                     " arguments, not " + std::to_string(arguments.size()),
                 "", position_of(invocation, file_)};
  }
  return std::optional<Arguments>(std::move(arguments));
}

Result<std::vector<MacroExpander::PlainToken>> MacroExpander::substitute(const Macro& macro, const Arguments& arguments,
                                                                         const Token& invocation, int depth) {
  const auto parameter_of = [&](const Token& token) -> std::size_t {
    if (token.kind != TokenKind::identifier) return macro.parameters.size();
    return static_cast<std::size_t>(std::find(macro.parameters.begin(), macro.parameters.end(), token.text) -
                                    macro.parameters.begin());
  };
  std::vector<std::optional<std::vector<PlainToken>>> expanded(arguments.size());
  std::vector<PlainToken> result;
  const auto append = [&](const std::vector<PlainToken>& tokens, bool space_before) {
    const std::size_t first = result.size();
    result.insert(result.end(), tokens.begin(), tokens.end());
    if (first < result.size()) result[first].token.space_before = space_before;
  };
  const std::vector<Token>& body = macro.body;
  for (std::size_t i = 0; i < body.size(); ++i) {
    if (result.size() > work_left_) return too_much(invocation);
    const std::size_t parameter = macro.function_like ? parameter_of(body[i]) : macro.parameters.size();
    const bool is_parameter = parameter < arguments.size();
    if (body[i].is("__VA_OPT__")) {
      return Error{"__VA_OPT__ is not known", "use ##__VA_ARGS__", position_of(invocation, file_)};
    }
    if (macro.function_like && body[i].is("#") && i + 1 < body.size()) {
      const std::size_t quoted = parameter_of(body[i + 1]);
      if (quoted >= arguments.size()) {
        return Error{"`#` in a macro must be followed by a parameter", "", position_of(body[i], file_)};
      }
      KW_TRY(Token text, stringise(arguments[quoted], invocation));
      result.push_back({text});
      result.back().token.space_before = body[i].space_before;
      ++i;
    } else if (is_paste(body[i])) {
      KW_CHECK(i + 1 < body.size());
      const std::size_t right = macro.function_like ? parameter_of(body[i + 1]) : macro.parameters.size();
      const bool right_is_argument = right < arguments.size();
      std::vector<PlainToken> operand;
      if (right_is_argument) {
        operand = arguments[right];
      } else {
        operand.push_back({body[i + 1]});
      }
      ++i;
      // GNU: `, ## __VA_ARGS__` drops the comma when there are no further arguments and pastes nothing otherwise.
      const bool comma = right_is_argument && macro.variadic && right + 1 == arguments.size() && !result.empty() &&
                         result.back().token.is(",");
      if (comma) {
        if (operand.empty()) result.pop_back();
        append(operand, false);
      } else if (!operand.empty() && !result.empty()) {
        KW_TRY(Token pasted, paste(result.back().token, operand.front().token, invocation));
        result.back() = {pasted};
        result.insert(result.end(), operand.begin() + 1, operand.end());
      } else {
        append(operand, false);
      }
    } else if (is_parameter) {
      if (i + 1 < body.size() && is_paste(body[i + 1])) {
        if (arguments[parameter].empty()) {
          // An empty operand of ## is a place-marker: the right one stands alone.
          const std::size_t right = parameter_of(body[i + 2]);
          if (right < arguments.size()) {
            append(arguments[right], body[i].space_before);
          } else {
            result.push_back({body[i + 2]});
          }
          i += 2;
        } else {
          append(arguments[parameter], body[i].space_before);
        }
      } else {
        if (!expanded[parameter]) {
          KW_TRY(expanded[parameter], expand_all(arguments[parameter], depth + 1));
        }
        append(*expanded[parameter], body[i].space_before);
      }
    } else {
      Token token = body[i];
      token.offset = invocation.offset;
      token.bytes = invocation.bytes;
      token.line = invocation.line;
      token.column = invocation.column;
      result.push_back({token});
    }
  }
  return result;
}

// Texts are charged like tokens: nested # doubles every backslash, so forty of them would fill the memory.
bool MacroExpander::charge_text(std::size_t bytes) {
  const std::size_t work = bytes / 16;
  if (work > work_left_) return false;
  work_left_ -= work;
  return true;
}

Result<Token> MacroExpander::paste(const Token& left, const Token& right, const Token& invocation) {
  if (!charge_text(left.text.size() + right.text.size())) return too_much(invocation);
  const std::string_view text = keep(std::string(left.text) + std::string(right.text));
  const TokenStream stream = lex(text, file_);
  if (stream.tokens.size() != 1 || stream.tokens[0].kind == TokenKind::directive || stream.spliced != nullptr) {
    const bool hash = text == "#";
    if (!hash) {
      return Error{"`##` does not give one token: " + std::string(text.substr(0, 60)), "",
                   position_of(invocation, file_)};
    }
  }
  Token token = left;
  token.kind = stream.tokens[0].kind == TokenKind::directive ? TokenKind::punctuator : stream.tokens[0].kind;
  token.text = text;
  token.offset = invocation.offset;
  token.bytes = invocation.bytes;
  token.line = invocation.line;
  token.column = invocation.column;
  return token;
}

Result<Token> MacroExpander::stringise(const std::vector<PlainToken>& argument, const Token& invocation) {
  std::string text = "\"";
  for (std::size_t i = 0; i < argument.size(); ++i) {
    const Token& token = argument[i].token;
    if (i > 0 && token.space_before) text += ' ';
    const bool quoted = token.kind == TokenKind::string || token.kind == TokenKind::character;
    for (const char c : token.text) {
      if (quoted && (c == '"' || c == '\\')) text += '\\';
      text += c;
    }
  }
  if (!charge_text(text.size())) return too_much(invocation);
  Token result = invocation;
  result.kind = TokenKind::string;
  result.text = keep(text + "\"");
  return result;
}

}  // namespace kw
