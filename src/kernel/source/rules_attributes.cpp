// Attributes in all their spellings, and the pragma operators.

#include <algorithm>
#include <span>
#include <unordered_set>

#include "kernel/source/rules_reading.h"

namespace kw {
namespace {

using Names = std::unordered_set<std::string_view>;

const Names& allowed_gnu() {
  static const Names names = {
      "aligned",      "__aligned__", "unused", "__unused__", "always_inline", "__always_inline__", "noinline",
      "__noinline__", "const",       "pure",   "may_alias",  "__may_alias__", "__const__",         "__pure__",
      "hot",          "cold",        "packed", "__packed__", "deprecated",    "noreturn"};
  return names;
}
const Names& allowed_standard() {
  static const Names names = {"maybe_unused", "nodiscard",  "fallthrough",       "likely", "unlikely",
                              "noreturn",     "deprecated", "no_unique_address", "assume"};
  return names;
}
const Names& allowed_declspec() {
  static const Names names = {"align", "noinline", "__align__"};
  return names;
}

class AttributeRules {
 public:
  AttributeRules(RuleInput& input, const Reading& reading)
      : input_(input), reading_(reading), tokens_(reading.tokens) {}

  void run() {
    for (std::size_t i = 0; i + 1 < tokens_.size(); ++i) {
      const Token& token = tokens_[i];
      const Token& next = tokens_[i + 1];
      if (token.is("[") && next.is("[")) {
        check(i, i + 1, reading_.closing[i], allowed_standard(), "[[...]]");
        ++i;
      } else if ((token.is("__attribute__") || token.is("__attribute")) && next.is("(")) {
        const bool twice = i + 2 < tokens_.size() && tokens_[i + 2].is("(");
        check(i, twice ? i + 2 : i + 1, reading_.closing[i + 1], allowed_gnu(), "__attribute__");
      } else if (token.is("__declspec") && next.is("(")) {
        check(i, i + 1, reading_.closing[i + 1], allowed_declspec(), "__declspec");
      } else if (token.is("_Pragma") || token.is("__pragma")) {
        check_pragma_operator(i);
      }
    }
  }

 private:
  // Names stand after the opening bracket or a comma; what a name has in brackets of its own is skipped.
  void check(std::size_t first, std::size_t open, std::size_t last, const Names& allowed, std::string_view spelling) {
    const std::size_t end = std::min({last, reading_.closing[open], tokens_.size()});
    bool expect_name = true;
    for (std::size_t i = open + 1; i < end; ++i) {
      const Token& token = tokens_[i];
      if (token.is("(") || token.is("[") || token.is("{")) {
        i = std::min(reading_.closing[i], end);
      } else if (token.is(",")) {
        expect_name = true;
      } else if (token.is("::") || token.is("using")) {
        return report(first, last, std::string(spelling) + " of a compiler's own namespace");
      } else if (expect_name) {
        if (!allowed.contains(token.text)) {
          return report(first, last, std::string(spelling) + " " + std::string(token.text.substr(0, 60)));
        }
        expect_name = false;
      }
    }
  }

  void check_pragma_operator(std::size_t at) {
    std::string text;
    std::size_t end = tokens_.size();
    bool readable = false;
    if (tokens_[at + 1].is("(")) {
      end = reading_.closing[at + 1];
      readable = tokens_[at].is("_Pragma") && end == at + 3 && tokens_[at + 2].kind == TokenKind::string;
      if (readable) text = decode_string(tokens_[at + 2].text);
    }
    const std::string why = readable ? forbidden_pragma(text) : "a pragma operator that cannot be read";
    if (!why.empty()) report(at, end, why, "pragma", "use only #pragma unroll, nounroll and once");
  }

  void report(std::size_t first, std::size_t last, std::string what, std::string_view rule = "attribute",
              std::string advice = "remove the attribute") {
    if (rule == "attribute") what += " can change how the file is compiled or linked";
    Violation violation =
        violation_at(input_, tokens_[first], rule, Severity::error, std::move(what), std::move(advice));
    if (last < tokens_.size() && is_as_written(input_.stream, tokens_[first]) &&
        is_as_written(input_.stream, tokens_[last])) {
      violation.removable = true;
      violation.begin = tokens_[first].offset;
      violation.end = tokens_[last].end_offset();
    }
    input_.add(std::move(violation));
  }

  RuleInput& input_;
  const Reading& reading_;
  const std::vector<Token>& tokens_;
};

}  // namespace

void check_attributes(RuleInput& input, const Reading& reading) { AttributeRules(input, reading).run(); }

}  // namespace kw
