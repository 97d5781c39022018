#include "kernel/source/needed_source.h"

#include <algorithm>

#include "kernel/source/lexer.h"
#include "kernel/source/rules_unicode.h"

namespace kw {
namespace {

// A declaration that is left out can be the last to mention another; more rounds find less and less.
constexpr int max_rounds = 4;

}  // namespace

void blank(std::string& text, const std::vector<TextRange>& ranges, bool keep_directives) {
  if (ranges.empty()) return;
  const std::string before = text;
  const TokenStream stream = lex(before, "");
  std::vector<TextRange> directives;
  for (const Token& token : stream.tokens) {
    if (keep_directives && token.kind == TokenKind::directive && !stream.inside(token).empty() &&
        !stream.inside(token)[0].is("pragma")) {
      directives.push_back({token.offset, token.end_offset()});
    }
  }
  for (const TextRange& range : ranges) {
    auto next = std::lower_bound(directives.begin(), directives.end(), TextRange{range.begin, range.begin});
    for (std::uint32_t i = range.begin; i < range.end && i < text.size(); ++i) {
      while (next != directives.end() && next->end <= i) ++next;
      if (next != directives.end() && next->begin <= i) continue;
      if (text[i] != '\n' && text[i] != '\r') text[i] = ' ';
    }
  }
}

bool leave_out_bytes_in_comments(std::string& text) {
  const std::string before = text;
  const TokenStream stream = lex(before, "");
  std::vector<TextRange> bad;
  std::size_t at = 0;
  if (before.starts_with("\xEF\xBB\xBF")) bad.push_back({0, 3});  // a byte order mark
  const auto look_at_gap = [&](std::size_t end) {
    while (at < end) {
      const DecodedCharacter c = decode_utf8(std::string_view(before), at);
      const auto bytes = static_cast<std::uint32_t>(c.bytes);
      if (!c.valid) bad.push_back({static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at) + bytes});
      at += bytes;
    }
  };
  for (const Token& token : stream.tokens) {
    look_at_gap(token.offset);
    if (token.kind == TokenKind::directive) {
      for (const Token& inner : stream.inside(token)) {
        look_at_gap(inner.offset);
        at = inner.end_offset();
      }
      look_at_gap(token.end_offset());
    }
    at = token.end_offset();
  }
  look_at_gap(before.size());
  blank(text, bad, false);
  return !bad.empty();
}

std::optional<std::string> needed_source(std::string_view text, std::string_view file) {
  static_cast<void>(file);
  std::string needed(text);
  bool changed = leave_out_bytes_in_comments(needed);
  changed |= leave_out_dead_branches(needed);
  changed |= leave_out_foreign_includes(needed);
  for (int round = 0; round < max_rounds; ++round) {
    const bool declarations = leave_out_declarations(needed);
    const bool members = leave_out_members(needed);
    const bool macros = leave_out_macros(needed);
    if (!declarations && !members && !macros) break;
    changed = true;
  }
  changed |= leave_out_lambda_annotations(needed);
  if (!changed) return std::nullopt;
  return needed;
}

}  // namespace kw
