#pragma once
// A small strict template engine for prompts.
//
//   {{name}}                                 the value, literally
//   {{#if name}} ... {{else}} ... {{/if}}    when the text or list is not empty
//   {{#each name}} ... {{/each}}             for each item of a list; inside, the item's names come first
//   {{! a comment }}                         nothing
//   \{{                                      two braces
//
// A line that holds nothing but one of the directives (not a value) vanishes with its line end. Unknown names are
// errors, also in branches that are not taken. A value is data: braces in it stay braces, and a control token of a chat
// model that it would bring in, alone or together with what stands beside it, is broken by a space ("< |im_end|>").

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace kw {

using TemplateItem = std::map<std::string, std::string>;
using TemplateList = std::vector<TemplateItem>;
using TemplateValue = std::variant<std::string, TemplateList>;
using TemplateValues = std::map<std::string, TemplateValue>;

inline constexpr std::size_t max_template_bytes = std::size_t{64} << 10;
inline constexpr std::size_t max_template_depth = 8;
inline constexpr std::size_t max_rendered_bytes = std::size_t{1} << 20;

class Template {
 public:
  static Result<Template> parse(std::string_view text, std::string_view file);

  // Fails when a name is unknown, a list is used as a text or the other way round, or the result is too long.
  Result<std::string> render(const TemplateValues& values) const;

 private:
  enum class Kind : std::uint8_t { text, value, condition, each };
  struct Node {
    Kind kind = Kind::text;
    std::string text;  // or the name
    int line = 0;
    std::vector<Node> children;
    std::vector<Node> otherwise;
  };
  friend class TemplateParser;
  friend class TemplateRendering;

  std::string file_;
  std::vector<Node> nodes_;
};

}  // namespace kw
