#define PCRE2_CODE_UNIT_WIDTH 8
#include "model/tokenizer/regex.h"

#include <pcre2.h>

#include <algorithm>
#include <utility>

namespace kw {
namespace {

constexpr std::uint32_t max_nested_groups = 50;
constexpr std::uint32_t max_match_steps =
    1'000'000;  // for one match; grows with the text, since one match may walk over all of it
constexpr std::size_t jit_stack_bytes = 1u << 20;

std::string message_of(int code) {
  PCRE2_UCHAR buffer[160] = {};
  pcre2_get_error_message(code, buffer, sizeof buffer);
  return reinterpret_cast<const char*>(buffer);
}

// \s and \w as Oniguruma and Rust define them: White_Space (without U+180E), and letters with their marks.
std::string translate(std::string_view pattern) {
  std::string out;
  int open_classes = 0;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '\\' && i + 1 < pattern.size()) {
      const char escaped = pattern[++i];
      const std::string_view word = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}";
      if (escaped == 's') {
        out += "\\p{White_Space}";
      } else if (escaped == 'S') {
        out += "\\P{White_Space}";
      } else if (escaped == 'w') {
        out += open_classes > 0 ? std::string(word) : "[" + std::string(word) + "]";
      } else if (escaped == 'W' && open_classes == 0) {
        out += "[^" + std::string(word) + "]";
      } else {
        out += c;
        out += escaped;
      }
      continue;
    }
    if (c == '[' && open_classes == 0) {
      open_classes = 1;
      out += c;
      if (i + 1 < pattern.size() && pattern[i + 1] == '^') out += pattern[++i];
      if (i + 1 < pattern.size() && pattern[i + 1] == ']') out += pattern[++i];
      continue;
    }
    if (c == ']') open_classes = 0;
    out += c;
  }
  return out;
}

}  // namespace

RegexScratch::RegexScratch()
    : data_(pcre2_match_data_create(1, nullptr)),
      context_(pcre2_match_context_create(nullptr)),
      stack_(pcre2_jit_stack_create(32u << 10, jit_stack_bytes, nullptr)) {
  KW_CHECK(data_ != nullptr && context_ != nullptr);
  pcre2_set_heap_limit(context_, 64u << 10);  // KiB, for patterns that the compiler to machine code does not take
  if (stack_ != nullptr) pcre2_jit_stack_assign(context_, nullptr, stack_);
}

RegexScratch::RegexScratch(RegexScratch&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      context_(std::exchange(other.context_, nullptr)),
      stack_(std::exchange(other.stack_, nullptr)) {}

RegexScratch::~RegexScratch() {
  pcre2_match_data_free(data_);
  pcre2_match_context_free(context_);
  pcre2_jit_stack_free(stack_);
}

void Regex::Free::operator()(pcre2_real_code_8* code) const { pcre2_code_free(code); }

Result<Regex> Regex::compile(std::string_view pattern) {
  if (pattern.empty()) return Error{"a pattern is empty", "", {}};
  if (pattern.size() > max_pattern_bytes) {
    return Error{"a pattern has " + std::to_string(pattern.size()) + " bytes; at most " +
                     std::to_string(max_pattern_bytes) + " are read",
                 "",
                 {}};
  }
  if (pattern.starts_with("(*"))
    return Error{"a pattern starts with a PCRE2 verb, which tokenizer files do not have", "", {}};
  const std::string translated = translate(pattern);
  const std::unique_ptr<pcre2_compile_context, void (*)(pcre2_compile_context*)> context(
      pcre2_compile_context_create(nullptr), pcre2_compile_context_free);
  pcre2_set_parens_nest_limit(context.get(), max_nested_groups);
  int code = 0;
  PCRE2_SIZE where = 0;
  Regex regex;
  // Oniguruma's ^ and $ stop at lines.
  regex.code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                                  PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &code, &where,
                                  context.get()));
  if (!regex.code_) {
    return Error{"the pattern " + std::string(pattern) + " cannot be read: " + message_of(code) + " (at byte " +
                     std::to_string(where) + " of " + translated + ")",
                 "",
                 {}};
  }
  regex.jit_ = pcre2_jit_compile(regex.code_.get(), PCRE2_JIT_COMPLETE) == 0;
  regex.pattern_ = pattern;
  return regex;
}

Result<void> Regex::find_all(std::string_view text, RegexScratch& scratch, std::vector<Span>& matches) const {
  const std::size_t limit = max_match_steps + 4 * text.size();
  pcre2_set_match_limit(scratch.context_, static_cast<std::uint32_t>(std::min<std::size_t>(limit, 0xFFFFFFFFu)));
  const auto subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  const PCRE2_SIZE* found = pcre2_get_ovector_pointer(scratch.data_);
  std::size_t last_end = std::string_view::npos;
  for (std::size_t at = 0; at < text.size();) {
    const int count =
        jit_ ? pcre2_jit_match(code_.get(), subject, text.size(), at, 0, scratch.data_, scratch.context_)
             : pcre2_match(code_.get(), subject, text.size(), at, PCRE2_NO_UTF_CHECK, scratch.data_, scratch.context_);
    if (count == PCRE2_ERROR_NOMATCH) break;
    if (count < 0) {
      return Error{"matching the pattern " + pattern_ + " was given up: " + message_of(count),
                   "the pattern backtracks too much for this text",
                   {}};
    }
    if (found[0] < at || found[1] < found[0] || found[1] > text.size()) {
      return Error{"the pattern " + pattern_ + " moves the start of its match", "", {}};
    }
    if (found[1] > found[0] || found[1] != last_end) {
      matches.push_back({found[0], found[1]});
      at = last_end = found[1];
      continue;
    }
    // Empty, right behind the last match: that place is done with.
    for (++at; at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;) ++at;
  }
  return {};
}

std::string escape_regex(std::string_view literal) {
  std::string out;
  for (const char c : literal) {
    if (std::string_view("\\^$.[]|()?*+{}#-&~").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

}  // namespace kw
