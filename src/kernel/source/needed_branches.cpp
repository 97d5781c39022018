// Preprocessor lines of what a launch does not need: branches of #if that the file's own macros decide, and includes of
// libraries that no kernel file may have.

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "kernel/source/condition.h"
#include "kernel/source/macro.h"
#include "kernel/source/needed_source.h"
#include "kernel/source/predefined_macros.h"
#include "kernel/source/rules_reading.h"

namespace kw {
namespace {

enum class Answer : std::uint8_t { no, unknown, yes };

Answer both(Answer a, Answer b) { return std::min(a, b); }
Answer opposite(Answer a) { return a == Answer::yes ? Answer::no : a == Answer::no ? Answer::yes : Answer::unknown; }

// Macros of other systems and compilers, which neither nvcc nor NVRTC defines.
bool is_of_another_system(std::string_view name) {
  static const std::unordered_set<std::string_view> names = {"_WIN32",      "_WIN64",
                                                             "_MSC_VER",    "_DEBUG",
                                                             "__APPLE__",   "__MINGW32__",
                                                             "__CYGWIN__",  "__CODEGEARC__",
                                                             "__clang__",   "__INTEL_COMPILER",
                                                             "__ICC",       "__PGI",
                                                             "_OPENACC",    "__OPENCL_VERSION__",
                                                             "__ANDROID__", "__ARM_NEON",
                                                             "__aarch64__", "__SYCL_DEVICE_ONLY__"};
  return names.contains(name) || name.starts_with("__HIP") || name.starts_with("__hip");
}

bool is_of_every_compiler(std::string_view name) {
  return name == "__CUDACC__" || name == "__cplusplus" || name == "__CUDACC_VER_MAJOR__" ||
         name == "__CUDACC_VER_MINOR__";
}

// Names that a header or the compiler may define, so that nothing can be said about them.
bool may_be_anybodys(std::string_view name) {
  static const std::unordered_set<std::string> predefined = [] {
    std::unordered_set<std::string> names;
    for (const Token& directive : lex(predefined_text, "").tokens) {
      const std::string_view line = directive.text;
      const std::size_t begin = line.find("define") + 7;
      names.emplace(line.substr(begin, line.find_first_of(" (", begin) - begin));
    }
    return names;
  }();
  if (predefined.contains(std::string(name))) return true;
  static const std::unordered_set<std::string_view> words = {"defined", "true", "false", "and", "or", "not"};
  if (words.contains(name)) return true;
  return std::ranges::any_of(std::initializer_list<std::string_view>{"_", "CU", "cu", "NV", "nv", "THRUST", "TORCH"},
                             [&](std::string_view prefix) { return name.starts_with(prefix); });
}

class BranchReader {
 public:
  explicit BranchReader(const TokenStream& stream) : stream_(stream) {}

  // Text of branches that are certainly not taken, and the lines of conditionals about which all is decided.
  std::vector<TextRange> run() {
    for (const Token& token : stream_.tokens) {
      if (token.kind != TokenKind::directive) continue;
      const auto inside = stream_.inside(token);
      if (inside.empty()) continue;
      const std::string_view word = inside[0].text;
      if (word.starts_with("if")) {
        open(token, word, inside.subspan(1));
      } else if (word.starts_with("el") || word == "endif") {
        if (open_.empty()) return {};  // no compiler takes such a file
        change(token, word, inside.subspan(1));
      } else if ((word == "define" || word == "undef") && inside.size() > 1) {
        set(word, inside);
      }
    }
    return open_.empty() ? std::move(left_out_) : std::vector<TextRange>{};
  }

 private:
  struct Conditional {
    Answer outer = Answer::yes;
    Answer taken = Answer::no;  // whether a branch before this one was
    Answer here = Answer::no;   // whether this one is, were the conditional read
    std::uint32_t branch_begin = 0;
    bool decided = true;
    std::vector<TextRange> lines;
  };

  Answer live() const { return open_.empty() ? Answer::yes : both(open_.back().outer, open_.back().here); }

  void open(const Token& line, std::string_view word, std::span<const Token> rest) {
    Conditional conditional;
    conditional.outer = live();
    conditional.here = decide(line, word, rest);
    conditional.decided = conditional.here != Answer::unknown;
    begin_branch(conditional, line);
    open_.push_back(std::move(conditional));
  }

  void begin_branch(Conditional& conditional, const Token& line) {
    conditional.lines.push_back({line.offset, line.end_offset()});
    conditional.branch_begin = line.end_offset();
  }

  void change(const Token& line, std::string_view word, std::span<const Token> rest) {
    Conditional& now = open_.back();
    if (now.here == Answer::no && now.outer != Answer::no) left_out_.push_back({now.branch_begin, line.offset});
    const Answer taken = std::max(now.taken, now.here);
    begin_branch(now, line);
    if (word == "endif") {
      if (now.decided && now.outer != Answer::no) left_out_.insert(left_out_.end(), now.lines.begin(), now.lines.end());
      open_.pop_back();
      return;
    }
    const Answer condition = word == "else"         ? Answer::yes
                             : taken == Answer::yes ? Answer::no
                             : word == "elif"       ? decide(line, "if", rest)
                                                    : decide(line, word.substr(2), rest);
    now.here = both(opposite(taken), condition);
    now.taken = taken;
    now.decided = now.decided && now.here != Answer::unknown;
  }

  void set(std::string_view word, std::span<const Token> inside) {
    const std::string_view name = inside[1].text;
    const Answer here = live();
    if (here == Answer::no) return;
    unknown_.erase(name);
    own_.erase(name);
    if (here == Answer::unknown) {
      unknown_.insert(name);
    } else if (word == "undef") {
      macros_.undefine(name);
    } else if (auto macro = read_macro(inside.subspan(1), ""); macro.ok()) {
      macros_.define(std::move(macro).value());
      own_.insert(name);
    } else {
      unknown_.insert(name);
    }
  }

  Answer is_defined(std::string_view name) const {
    if (unknown_.contains(name)) return Answer::unknown;
    if (own_.contains(name) || is_of_every_compiler(name)) return Answer::yes;
    if (is_of_another_system(name)) return Answer::no;
    return may_be_anybodys(name) ? Answer::unknown : Answer::no;
  }

  Answer decide(const Token& line, std::string_view word, std::span<const Token> rest) {
    if (rest.empty()) return Answer::unknown;
    if (word == "ifdef") return is_defined(rest[0].text);
    // A header may define the name as well, which makes no difference to who asks whether to define it.
    if (word == "ifndef") return opposite(is_defined(rest[0].text));
    return word == "if" ? value(line, rest) : Answer::unknown;
  }

  // `defined X`, `defined(X)` at `i`, which moves to its last token.
  Answer decide_defined(std::span<const Token> condition, std::size_t& i) const {
    const bool bracket = condition.size() > i + 1 && condition[i + 1].is("(");
    const std::size_t name = i + (bracket ? 2 : 1);
    if (name >= condition.size()) return Answer::unknown;
    i = name + (bracket ? 1 : 0);
    return is_defined(condition[name].text);
  }

  Answer value(const Token& line, std::span<const Token> condition) {
    std::vector<Token> decided;
    for (std::size_t i = 0; i < condition.size(); ++i) {
      Token token = condition[i];
      if (token.is("defined")) {
        const Answer answer = decide_defined(condition, i);
        if (answer == Answer::unknown) return answer;
        token.kind = TokenKind::number;
        token.text = answer == Answer::yes ? "1" : "0";
      }
      decided.push_back(token);
    }
    constexpr std::size_t most_work = 10'000;
    constexpr int most_depth = 32;
    std::deque<std::string> made;
    MacroExpander expander(macros_, made, "", most_work, most_depth);
    for (const Token& token : decided) {
      const std::string_view name = token.text;
      if (token.kind != TokenKind::identifier) continue;
      const bool hidden = name.starts_with("_") && !own_.contains(name) && is_defined(name) == Answer::unknown;
      if (hidden || unknown_.contains(name)) return Answer::unknown;
    }
    const auto expanded = expander.expand(decided);
    if (!expanded.ok()) return Answer::unknown;
    for (const Token& token : *expanded) {
      if (token.kind == TokenKind::identifier && is_defined(token.text) != Answer::no) return Answer::unknown;
    }
    const auto result = evaluate_condition(*expanded, line, "");
    return !result.ok() ? Answer::unknown : *result ? Answer::yes : Answer::no;
  }

  const TokenStream& stream_;
  MacroTable macros_;                         // whose definition is certain
  std::unordered_set<std::string_view> own_;  // the file's of these
  std::unordered_set<std::string_view> unknown_;
  std::vector<Conditional> open_;
  std::vector<TextRange> left_out_;
};

}  // namespace

bool leave_out_dead_branches(std::string& text) {
  const std::string before = text;
  const TokenStream stream = lex(before, "");
  const std::vector<TextRange> dead = BranchReader(stream).run();
  blank(text, dead, false);
  return text != before;
}

bool leave_out_macros(std::string& text) {
  const std::string before = text;
  const TokenStream stream = lex(before, "");
  std::unordered_map<std::string_view, std::vector<const Token*>> definitions;  // of what nobody has named yet
  std::vector<std::string_view> named;
  const auto name_all = [&](std::span<const Token> tokens) {
    for (const Token& token : tokens) {
      if (token.kind == TokenKind::identifier) named.push_back(token.text);
    }
  };
  for (const Token& token : stream.tokens) {
    const auto inside = stream.inside(token);
    const bool defines =
        token.kind == TokenKind::directive && inside.size() > 1 && (inside[0].is("define") || inside[0].is("undef"));
    if (defines) {
      definitions[inside[1].text].push_back(&token);
    } else if (token.kind == TokenKind::directive) {
      name_all(inside);
    } else if (token.kind == TokenKind::identifier) {
      named.push_back(token.text);
    }
  }
  while (!named.empty()) {
    const auto found = definitions.find(named.back());
    named.pop_back();
    if (found == definitions.end()) continue;
    const std::vector<const Token*> lines = std::move(found->second);
    definitions.erase(found);
    for (const Token* line : lines) name_all(stream.inside(*line));
  }
  std::vector<TextRange> unused;
  for (const auto& [name, lines] : definitions) {
    for (const Token* line : lines) unused.push_back({line->offset, line->end_offset()});
  }
  std::ranges::sort(unused);
  blank(text, unused, false);
  return text != before;
}

bool leave_out_foreign_includes(std::string& text) {
  const std::string before = text;
  const TokenStream stream = lex(before, "");
  const Policy policy;
  std::vector<TextRange> foreign;
  for (const Token& token : stream.tokens) {
    if (token.kind != TokenKind::directive) continue;
    const auto inside = stream.inside(token);
    if (inside.size() != 2 || !inside[0].is("include") || inside[1].text.size() < 3) continue;
    if (inside[1].kind != TokenKind::header_name && !inside[1].text.starts_with('"')) continue;
    const std::string_view name = inside[1].text.substr(1, inside[1].text.size() - 2);
    if (is_plain_path(name) && !is_allowed_header(name, policy)) foreign.push_back({token.offset, token.end_offset()});
  }
  blank(text, foreign, false);
  return !foreign.empty();
}

}  // namespace kw
