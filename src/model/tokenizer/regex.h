#pragma once
// A pattern of a tokenizer file, run by PCRE2 with Unicode properties. Files are written for Oniguruma and Rust's
// fancy-regex; classes that PCRE2 understands otherwise (\s, \w) are translated. Matching is bounded: a pattern that
// backtracks without end is an error. Not done: constructs that only Oniguruma has; PCRE2 refuses them, or reads them
// in its own way.

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

struct pcre2_real_code_8;
struct pcre2_real_match_data_8;
struct pcre2_real_match_context_8;
struct pcre2_real_jit_stack_8;

namespace kw {

inline constexpr std::size_t max_pattern_bytes = 4096;

// Part of a text, in bytes.
struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
  friend bool operator==(const Span&, const Span&) = default;
};

// What matching needs to write to; one for each thread.
class RegexScratch {
 public:
  RegexScratch();
  ~RegexScratch();
  RegexScratch(RegexScratch&& other) noexcept;
  RegexScratch& operator=(RegexScratch&&) = delete;

 private:
  friend class Regex;
  pcre2_real_match_data_8* data_;
  pcre2_real_match_context_8* context_;
  pcre2_real_jit_stack_8* stack_;
};

class Regex {
 public:
  static Result<Regex> compile(std::string_view pattern);

  // Appends all matches in `text` (valid UTF-8), from left to right; none overlap. Empty ones are there too, since a
  // Split cuts at them, except right behind another match.
  Result<void> find_all(std::string_view text, RegexScratch& scratch, std::vector<Span>& matches) const;

 private:
  struct Free {
    void operator()(pcre2_real_code_8* code) const;
  };
  std::unique_ptr<pcre2_real_code_8, Free> code_;
  bool jit_ = false;
  std::string pattern_;
};

// The pattern that matches exactly this text.
std::string escape_regex(std::string_view literal);

}  // namespace kw
