#include "kernel/source/host_parser.h"

#include <algorithm>

#include "kernel/source/host_type.h"

namespace kw {
namespace {

// Every `>` alone: the parser joins them again where an operator is meant.
std::vector<Token> split_closing_angles(const std::vector<Token>& tokens) {
  std::vector<Token> result;
  result.reserve(tokens.size());
  for (const Token& token : tokens) {
    const bool splits = token.kind == TokenKind::punctuator && token.text.size() > 1 && token.text.front() == '>';
    if (!splits) {
      result.push_back(token);
      continue;
    }
    const bool in_place = token.bytes == token.text.size();  // else it stands for a macro invocation
    for (std::size_t i = 0; i < token.text.size(); ++i) {
      Token part = token;
      part.text = token.text.substr(i, 1);
      if (i > 0) part.space_before = part.line_start = false;
      if (in_place) {
        part.offset += static_cast<std::uint32_t>(i);
        part.column += static_cast<std::uint32_t>(i);
        part.bytes = 1;
      }
      result.push_back(part);
    }
  }
  return result;
}

}  // namespace

const std::unordered_map<std::string_view, NameKind>& NameTable::built_in() {
  static const std::unordered_map<std::string_view, NameKind> names = [] {
    std::unordered_map<std::string_view, NameKind> result;
    for (const std::string_view name : builtin_type_names()) result[name] = NameKind::type;
    for (const std::string_view name :
         {"numeric_limits", "is_same", "is_integral", "is_floating_point", "is_pointer", "conditional", "conditional_t",
          "enable_if", "enable_if_t", "integral_constant", "bool_constant"}) {
      result[name] = NameKind::type_template;
    }
    for (const std::string_view name : {"true_type", "false_type"}) result[name] = NameKind::type;
    for (const std::string_view name :
         {"min", "max", "swap", "clamp", "is_same_v", "is_integral_v", "is_floating_point_v", "is_pointer_v"}) {
      result[name] = NameKind::value_template;
    }
    return result;
  }();
  return names;
}

void NameTable::close(bool keep_names) {
  KW_CHECK(scopes_.size() > 1);
  auto names = std::move(scopes_.back());
  scopes_.pop_back();
  if (!keep_names) return;
  for (const auto& [name, kind] : names) scopes_.back().insert_or_assign(name, kind);
}

NameKind NameTable::find(std::string_view name) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    const auto found = scope->find(name);
    if (found != scope->end()) return found->second;
  }
  const auto found = built_in().find(name);
  return found == built_in().end() ? NameKind::value : found->second;
}

HostParser::HostParser(HostProgram& program) : program_(program), store_(program.store) {
  program.tokens = split_closing_angles(program.source.tokens);
  const std::vector<Token>& tokens = program.tokens;
  end_ = tokens.size();
  work_left_ = 16 * end_ + 20'000;
  partner_.assign(end_, static_cast<std::uint32_t>(end_));
  is_name_.resize(end_);
  if (program.uses_torch) {
    for (const std::string_view name : torch_type_names()) names_.declare(name, NameKind::type);
    for (const std::string_view name : torch_template_names()) names_.declare(name, NameKind::type_template);
  }
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < end_; ++i) {
    is_name_[i] = tokens[i].kind == TokenKind::identifier && !is_keyword(tokens[i].text);
    if (tokens[i].kind != TokenKind::punctuator || tokens[i].text.size() != 1) continue;
    const char c = tokens[i].text[0];
    if (c == '(' || c == '[' || c == '{') open.push_back(i);
    if (c != ')' && c != ']' && c != '}') continue;
    const char wanted = c == ')' ? '(' : c == ']' ? '[' : '{';
    // A brace closes what was left open inside it.
    if (c == '}') {
      while (!open.empty() && tokens[open.back()].text[0] != wanted) open.pop_back();
    }
    if (open.empty() || tokens[open.back()].text[0] != wanted) continue;
    partner_[open.back()] = static_cast<std::uint32_t>(i);
    open.pop_back();
  }
}

const Token& HostParser::token(std::size_t ahead) const {
  static const Token none;
  return at_ + ahead < end_ ? program_.tokens[at_ + ahead] : none;
}

bool HostParser::is(std::string_view text, std::size_t ahead) const {
  const Token& next = token(ahead);
  return next.text.size() == text.size() && next.text[0] == text[0] && next.text == text &&
         next.kind != TokenKind::string && next.kind != TokenKind::character;
}

bool HostParser::is_identifier(std::size_t ahead) const { return at_ + ahead < end_ && is_name_[at_ + ahead]; }

void HostParser::advance() {
  if (at_ < end_) ++at_;
  if (work_left_ == 0) {
    fail("the code is too ambiguous to be read");
  } else {
    --work_left_;
  }
}

bool HostParser::take(std::string_view text) {
  if (!is(text)) return false;
  advance();
  return true;
}

bool HostParser::expect(std::string_view text) {
  if (take(text)) return true;
  fail_near("`" + std::string(text) + "`");
  return false;
}

std::string_view HostParser::take_identifier(std::string_view what) {
  if (!is_identifier()) {
    fail_near(what);
    return {};
  }
  const std::string_view name = token().text;
  advance();
  return name;
}

// The first error counts. Nothing is left to read afterwards, so every loop ends.
void HostParser::fail(std::string message, std::string advice) {
  if (!failed_) {
    const std::size_t at = std::min(at_, program_.tokens.empty() ? 0 : program_.tokens.size() - 1);
    error_ = Error{std::move(message), std::move(advice), program_.position_of(static_cast<TokenIndex>(at))};
  }
  failed_ = true;
  at_ = end_;
}

void HostParser::fail_near(std::string_view expected) {
  if (at_end()) return fail("syntax error: expected " + std::string(expected) + " before the end");
  fail("syntax error: expected " + std::string(expected) + " near `" + std::string(token().text.substr(0, 40)) + "`");
}

bool HostParser::at_joined_close(std::size_t count) const {
  for (std::size_t i = 0; i < count; ++i) {
    if (!is(">", i) || (i > 0 && token(i).space_before)) return false;
  }
  return true;
}

std::size_t HostParser::matching_close(std::size_t open) const {
  return open < partner_.size() ? std::min<std::size_t>(partner_[open], end_) : end_;
}

void HostParser::skip_balanced() {
  const std::size_t close = matching_close(at_);
  if (close >= end_) return fail("syntax error: `" + std::string(token().text.substr(0, 4)) + "` is not closed");
  at_ = close + 1;
}

std::string HostParser::scope() const {
  std::string text;
  for (const std::string_view part : scope_) {
    if (!text.empty()) text += "::";
    text += part;
  }
  return text;
}

}  // namespace kw
