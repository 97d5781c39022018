#pragma once
// The text of an answer as it grows token by token: ends at a stop string, wherever the borders of tokens lie, and says
// which part of it can be shown already. A part that may become a stop string, or that ends inside a UTF-8 character,
// is held back.

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kw {

class AnswerText {
 public:
  AnswerText() = default;
  explicit AnswerText(std::span<const std::string> stops);  // none of them empty

  // True when a stop string is complete: the text is cut before it, and nothing may be appended any more. Of several,
  // the one that begins first counts.
  bool append(std::string_view bytes);

  const std::string& text() const { return text_; }
  // What can be shown and was not given out before; with `all`, also what was held back. Valid until append().
  std::string_view take_visible(bool all);

 private:
  std::vector<std::string> stops_;
  std::string text_;
  std::size_t shown_ = 0;
};

}  // namespace kw
