#pragma once
// Cuts text into the words that merges never cross.

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/tokenizer/regex.h"
#include "model/tokenizer/tokenizer_spec.h"

namespace kw {

// Views of the text that was cut, or of `owned` where a step changed it.
struct Words {
  std::vector<std::string_view> words;
  std::deque<std::string> owned;

  void clear() {
    words.clear();
    owned.clear();
  }
};

class PreTokenizer {
 public:
  static Result<PreTokenizer> compile(const std::vector<PreTokenizerStep>& steps);

  // Appends the words of `text` (valid UTF-8).
  Result<void> split(std::string_view text, RegexScratch& scratch, Words& out) const;

 private:
  struct Step {
    PreTokenizerStep step;
    std::optional<Regex> regex;
  };
  std::vector<Step> steps_;
};

}  // namespace kw
