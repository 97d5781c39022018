// Inline PTX: what an asm statement may contain. The text is what the string literals stand for, joined.

#include <unordered_map>
#include <unordered_set>

#include "kernel/source/rules_reading.h"

namespace kw {
namespace {

struct PtxWord {
  std::string_view text;
  char before = ' ';  // `.` for a modifier or directive, `%` for a register
};

constexpr bool is_word_part(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$';
}

// Words of PTX without comments and strings; `%%` is the escaped `%` of extended asm.
std::vector<PtxWord> split_ptx(std::string_view text) {
  std::vector<PtxWord> words;
  char before = ' ';
  for (std::size_t i = 0; i < text.size();) {
    if (text.substr(i, 2) == "//") {
      i = std::min(text.find('\n', i), text.size());
      before = ' ';
    } else if (text.substr(i, 2) == "/*") {
      const std::size_t end = text.find("*/", i + 2);
      i = end == text.npos ? text.size() : end + 2;
      before = ' ';
    } else if (is_word_part(text[i])) {
      const std::size_t begin = i;
      while (i < text.size() && is_word_part(text[i])) ++i;
      words.push_back({text.substr(begin, i - begin), before});
      before = ' ';
    } else {
      before = text[i++];
    }
  }
  return words;
}

struct PtxRule {
  std::string_view rule;
  Severity severity;
  std::string_view why;
};

const PtxRule* find_instruction(std::string_view word) {
  static const std::unordered_map<std::string_view, PtxRule> table = {
      {"trap", {"asm-trap", Severity::error, "stops the kernel"}},
      {"brkpt", {"asm-trap", Severity::error, "stops the kernel in a debugger"}},
      {"exit", {"asm-trap", Severity::error, "ends threads behind the compiler's back"}},
      {"nanosleep", {"asm-sleep", Severity::error, "makes threads wait"}},
      {"pmevent", {"asm-timer", Severity::error, "triggers performance counters"}},
      {"discard", {"asm-cache", Severity::error, "throws away memory contents"}},
      {"applypriority", {"l2-persistence", Severity::error, "changes what the L2 cache keeps"}},
      {"createpolicy", {"asm-cache", Severity::warning, "makes a cache policy"}},
      {"griddepcontrol", {"grid-dependency", Severity::error, "lets kernels overlap in time"}},
      {"setmaxnreg", {"asm-registers", Severity::warning, "changes the number of registers"}},
      {"call", {"asm-call", Severity::error, "calls a function that the rules cannot see"}},
      {"vprintf", {"device-printf", Severity::error, "prints from the kernel"}},
      {"malloc", {"device-malloc", Severity::error, "takes memory from the device heap"}},
  };
  const auto found = table.find(word);
  return found == table.end() ? nullptr : &found->second;
}

bool is_timer_register(std::string_view word) {
  return word.starts_with("clock") || word.starts_with("globaltimer") || word.starts_with("pm0") ||
         (word.size() >= 3 && word.starts_with("pm") && word[2] >= '0' && word[2] <= '9');
}

// Registers that tell blocks and machines apart: a result must not depend on them.
bool is_placement_register(std::string_view word) {
  static const std::unordered_set<std::string_view> names = {"smid", "nsmid", "warpid", "nwarpid", "gridid"};
  return names.contains(word) || word.starts_with("envreg");
}

bool is_ptx_directive(std::string_view word) {
  static const std::unordered_set<std::string_view> names = {
      "pragma", "file",   "section", "loc",  "target", "version", "address_size", "entry",
      "func",   "extern", "visible", "weak", "alias",  "maxnreg", "common",       "callprototype"};
  return names.contains(word);
}

class AssemblyRules {
 public:
  AssemblyRules(RuleInput& input, const Reading& reading, const Policy& policy)
      : input_(input), reading_(reading), policy_(policy), tokens_(reading.tokens) {}

  void run() {
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (tokens_[i].is("asm") || tokens_[i].is("__asm__") || tokens_[i].is("__asm")) check_statement(i);
    }
  }

 private:
  void check_statement(std::size_t at) {
    first_ = at;
    last_ = tokens_.size();
    std::size_t open = at + 1;
    while (open < tokens_.size() && tokens_[open].kind == TokenKind::identifier && open < at + 4) {
      if (tokens_[open].is("goto")) return report("asm-syntax", Severity::error, "asm goto jumps out of the assembly");
      ++open;
    }
    last_ = open < tokens_.size() && tokens_[open].is("(") ? reading_.closing[open] : tokens_.size();
    if (!policy_.allow_inline_ptx) return report("asm", Severity::error, "inline PTX is not allowed");
    if (last_ >= tokens_.size()) return report("asm-syntax", Severity::error, "an asm statement that cannot be read");
    if (reading_.sides[at] != Side::device) {
      return report("asm-host", Severity::error, "an asm statement outside device functions");
    }
    std::string text;
    std::size_t i = open + 1;
    for (; i < last_ && tokens_[i].kind == TokenKind::string; ++i) {
      if (input_.combinations_unread && !is_as_written(input_.stream, tokens_[i])) {
        return report("macro-conditional", Severity::error, "PTX made by macros with several definitions");
      }
      text += decode_string(tokens_[i].text);
    }
    if (i < last_ && !tokens_[i].is(":") && !tokens_[i].is("::")) {
      return report("asm-syntax", Severity::error, "an asm statement whose text is not a plain string");
    }
    for (; i < last_; ++i) {
      if (tokens_[i].is("asm") || tokens_[i].is("__asm__")) {
        return report("asm-syntax", Severity::error, "an asm statement inside another");
      }
      // With the constraint "C" an operand is text that becomes part of the PTX.
      if (tokens_[i].kind == TokenKind::string && decode_string(tokens_[i].text).find('C') != std::string::npos) {
        return report("asm-syntax", Severity::error, "an asm operand that is text");
      }
    }
    check_ptx(text);
  }

  void check_ptx(std::string_view text) {
    if (text.find('"') != text.npos) report("asm-syntax", Severity::error, "a string inside PTX");
    for (const PtxWord& word : split_ptx(text)) {
      if (word.before == '%') {
        if (is_timer_register(word.text)) report("asm-timer", Severity::error, name(word) + " reads a timer");
        if (is_placement_register(word.text)) {
          report("asm-placement", Severity::warning, name(word) + " depends on where a block happens to run");
        }
      } else if (word.before == '.' && is_ptx_directive(word.text)) {
        report("asm-directive", Severity::error, name(word) + " changes the module around the kernel");
      } else if (word.text == "evict_last") {
        report("l2-persistence", Severity::error, "evict_last keeps data in the L2 cache between launches");
      } else if (word.text == "cache_hint") {
        report("asm-cache", Severity::warning, "a load or store with a cache policy");
      } else if (const PtxRule* rule = word.before == '.' ? nullptr : find_instruction(word.text)) {
        report(rule->rule, rule->severity, name(word) + " " + std::string(rule->why));
      }
    }
  }

  static std::string name(const PtxWord& word) {
    std::string text(word.before == '%' || word.before == '.' ? 1 : 0, word.before);
    return text.append(word.text.substr(0, 40));
  }

  void report(std::string_view rule, Severity severity, std::string message) {
    Violation violation = violation_at(input_, tokens_[first_], rule, severity, "inline PTX: " + std::move(message),
                                       "write it in CUDA C++ or leave it out");
    if (severity == Severity::error && last_ < tokens_.size() && is_as_written(input_.stream, tokens_[first_]) &&
        is_as_written(input_.stream, tokens_[last_])) {
      violation.removable = true;
      violation.begin = tokens_[first_].offset;
      violation.end = tokens_[last_].end_offset();
    }
    input_.add(std::move(violation));
  }

  RuleInput& input_;
  const Reading& reading_;
  const Policy& policy_;
  const std::vector<Token>& tokens_;
  std::size_t first_ = 0;  // tokens of the present statement
  std::size_t last_ = 0;
};

}  // namespace

void check_assembly(RuleInput& input, const Reading& reading, const Policy& policy) {
  AssemblyRules(input, reading, policy).run();
}

}  // namespace kw
