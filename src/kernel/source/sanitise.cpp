#include "kernel/source/sanitise.h"

#include <algorithm>
#include <vector>

#include "kernel/source/lexer.h"
#include "kernel/source/rules_reading.h"
#include "kernel/source/rules_unicode.h"

namespace kw {
namespace {

constexpr std::string_view marker_begin = "/* removed: ";
constexpr std::string_view marker_end = " */";
constexpr std::size_t longest_rule_name = 32;
constexpr int max_rounds = 4;  // leaving something out can bring together what was apart

std::string marker(std::string_view rule) {
  return std::string(marker_begin).append(rule.substr(0, longest_rule_name)).append(marker_end);
}

// The length of a marker at the start of the text, or 0.
std::size_t marker_length(std::string_view text) {
  if (!text.starts_with(marker_begin)) return 0;
  std::size_t at = marker_begin.size();
  while (at < text.size() && at < marker_begin.size() + longest_rule_name &&
         ((text[at] >= 'a' && text[at] <= 'z') || (text[at] >= '0' && text[at] <= '9') || text[at] == '-')) {
    ++at;
  }
  return text.substr(at).starts_with(marker_end) ? at + marker_end.size() : 0;
}

// Rewrites the text token by token: steps 1 and 2.
class Cleaner {
 public:
  explicit Cleaner(std::string_view text) : text_(text), stream_(lex(text, "")) { out_.reserve(text.size()); }

  std::string run() && {
    for (const Token& token : stream_.tokens) {
      if (token.kind != TokenKind::directive) {
        put_gap(token.offset, &token, false);
        put_token(token);
        continue;
      }
      put_gap(token.offset, &token, false);
      out_ += '#';
      at_ = token.offset + 1;
      for (const Token& inner : stream_.inside(token)) {
        put_gap(inner.offset, &inner, true);
        put_token(inner);
      }
    }
    put_gap(text_.size(), nullptr, false);
    return std::move(out_);
  }

 private:
  // What stands between two tokens: white space and comments.
  void put_gap(std::size_t end, const Token* next, bool in_directive) {
    const std::string_view gap = text_.substr(at_, end - std::min(at_, end));
    at_ = end;
    if (is_plain(gap)) {
      out_ += gap;
      return;
    }
    const auto lines = static_cast<std::size_t>(std::count(gap.begin(), gap.end(), '\n'));
    if (lines == 0) {
      if (!gap.empty()) out_ += ' ';
      return;
    }
    // A `#` that began no line must not begin one now, and a directive must stay one line.
    const bool hash = next != nullptr && next->kind != TokenKind::directive && next->text.starts_with('#');
    for (std::size_t i = 0; i < lines; ++i) out_ += in_directive || hash ? " \\\n" : "\n";
    const std::size_t indent = gap.find_last_not_of(" \t") + 1;
    if (gap[indent - 1] == '\n') out_ += gap.substr(indent);
  }

  static bool is_plain(std::string_view gap) {
    for (std::size_t i = 0; i < gap.size();) {
      const std::size_t length = marker_length(gap.substr(i));
      const bool continuation = gap.substr(i, 2) == "\\\n";
      if (length == 0 && !continuation && gap[i] != ' ' && gap[i] != '\t' && gap[i] != '\n') return false;
      i += length > 0 ? length : continuation ? 2 : 1;
    }
    return true;
  }

  void put_token(const Token& token) {
    const std::string_view written = text_.substr(token.offset, token.bytes);
    at_ = token.end_offset();
    // ??= and %: must not be read as # by anybody.
    if (!out_.empty() && !written.empty() && splits(out_.back(), written.front())) out_ += ' ';
    const bool quoted = token.kind == TokenKind::string || token.kind == TokenKind::character;
    if (token.kind == TokenKind::unknown) {
      out_ += ' ';
      return;
    }
    for (std::size_t i = 0; i < written.size();) {
      const DecodedCharacter c = decode_utf8(written, i);
      const std::string_view bytes = written.substr(i, c.bytes);
      i += c.bytes;
      const bool line_return = bytes == "\r";
      if (line_return && i < written.size() && written[i] == '\n') continue;
      if (!c.valid || is_hidden(c.code_point) || line_return) {
        // A name stays one name: a space could turn its rest into something else, such as the R of a raw string.
        const bool byte_order_mark = token.offset == 0 && i == c.bytes && c.code_point == 0xFEFF;
        out_ += quoted ? '.' : byte_order_mark ? ' ' : '_';
      } else if (quoted && bytes == "?" && out_.ends_with('?')) {
        out_ += '.';  // no trigraphs
      } else {
        out_ += bytes;
      }
    }
  }

  static bool splits(char left, char right) {
    return (left == '?' && right == '?') || (left == '%' && (right == ':' || right == '>')) ||
           (left == '<' && (right == ':' || right == '%')) || (left == ':' && right == '>');
  }

  std::string_view text_;
  TokenStream stream_;
  std::string out_;
  std::size_t at_ = 0;
};

// Step 3; false when there is nothing to leave out.
bool leave_out(std::string& text, const Policy& policy) {
  std::vector<Violation> violations = find_violations(text, "", policy);
  std::erase_if(violations, [](const Violation& violation) { return !violation.removable; });
  if (violations.empty()) return false;
  std::stable_sort(violations.begin(), violations.end(), [](const Violation& a, const Violation& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
  });
  std::string result;
  std::size_t at = 0;
  for (const Violation& violation : violations) {
    if (violation.begin < at) continue;  // inside one that is already left out
    const std::string_view range = std::string_view(text).substr(violation.begin, violation.end - violation.begin);
    result.append(text, at, violation.begin - at).append(violation.replacement);
    if (!violation.replacement.empty()) result += ' ';
    result += marker(violation.finding.rule);
    result.append(static_cast<std::size_t>(std::count(range.begin(), range.end(), '\n')), '\n');
    at = violation.end;
  }
  text = result.append(text, at);
  return true;
}

}  // namespace

std::string sanitise(std::string_view text, const Policy& policy) {
  std::string result = Cleaner(text).run();
  for (int round = 0; round < max_rounds && leave_out(result, policy); ++round) result = Cleaner(result).run();
  return result;
}

}  // namespace kw
