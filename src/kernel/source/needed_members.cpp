// Member functions that nobody names, and what a lambda in a kernel says of where it runs.

#include <unordered_map>

#include "kernel/source/needed_source.h"
#include "kernel/source/needed_units.h"
#include "kernel/source/rules_plain_class.h"

namespace kw {
namespace {

// The words in front of a member function's name that are no type: then it is a constructor.
bool is_specifier(const Token& token) {
  static const std::unordered_set<std::string_view> words = {
      "explicit", "inline", "constexpr", "__host__", "__device__", "__forceinline__", "__inline__", "__noinline__"};
  return words.contains(token.text);
}

std::vector<TextRange> unneeded_members(const RuleInput& input, const Reading& reading) {
  const std::vector<Token>& tokens = reading.tokens;
  std::unordered_map<std::string_view, std::size_t> mentions;
  for (const Token& token : tokens) {
    if (token.kind == TokenKind::identifier) ++mentions[token.text];
  }
  std::vector<TextRange> ranges;
  for (const Declaration& declaration : reading.declarations) {
    const std::size_t first = declaration.first, name = declaration.name;
    if (!declaration.in_type || declaration.kind != Declaration::Kind::function_body || name <= first) continue;
    const std::size_t end = reading.closing[declaration.last];
    if (end >= tokens.size() || is_called_unnamed(tokens[name].text) || tokens[name - 1].is("~")) continue;
    bool typed = false, plain = true;
    for (std::size_t i = first; i < declaration.last; ++i) {
      if (i < name && !is_specifier(tokens[i])) typed = true;
      plain = plain && !tokens[i].is("operator") && !tokens[i].is("virtual") && !tokens[i].is("override") &&
              !tokens[i].is("friend") && !tokens[i].is("template") && !tokens[i].is("final");
    }
    if (!typed || !plain) continue;
    std::size_t own = 0;
    for (std::size_t i = first; i <= end; ++i) own += tokens[i].text == tokens[name].text;
    if (mentions[tokens[name].text] != own) continue;
    const TextRange range{tokens[first].offset, tokens[end].end_offset()};
    const bool written = is_as_written(input.stream, tokens[first]) && is_as_written(input.stream, tokens[end]) &&
                         range.begin < range.end;
    if (written && has_balanced_branches(input.stream, range.begin, range.end)) ranges.push_back(range);
  }
  return ranges;
}

}  // namespace

bool leave_out_members(std::string& text) {
  const std::string before = text;
  const RuleInput input = read_for_rules(before, "");
  if (input.readings.size() != 1) return false;
  blank(text, unneeded_members(input, input.readings[0]), true);
  return text != before;
}

// `[=] __device__ (int i) { ... }`: in a kernel it runs on the device in any case, and only an option of nvcc's
// compiler allows to say so.
bool leave_out_lambda_annotations(std::string& text) {
  const std::string before = text;
  const TokenStream stream = lex(before, "");
  std::vector<TextRange> ranges;
  for (std::size_t i = 1; i + 1 < stream.tokens.size(); ++i) {
    const auto is_annotation = [&](std::size_t at) {
      return at < stream.tokens.size() && (stream.tokens[at].is("__device__") || stream.tokens[at].is("__host__"));
    };
    if (!stream.tokens[i - 1].is("]") || !is_annotation(i)) continue;
    std::size_t end = i;
    while (is_annotation(end)) ++end;
    if (end >= stream.tokens.size() || !(stream.tokens[end].is("(") || stream.tokens[end].is("{"))) continue;
    ranges.push_back({stream.tokens[i].offset, stream.tokens[end - 1].end_offset()});
  }
  blank(text, ranges, false);
  return !ranges.empty();
}

}  // namespace kw
