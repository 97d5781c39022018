#include "agents/agent/kernel_edits.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "kernel/source/lexer.h"

namespace kw {
namespace {

// What the hardware has a quicker form of. `helper`: defined in front of the file where the form is no intrinsic. Near
// 0 the quicker forms of tanh, expm1 and log1p are exact to the last bits of 1, not of their values.
struct QuickForm {
  std::string_view name, quick, helper;
};
constexpr std::array<QuickForm, 10> quick_forms{{
    {"expf", "__expf", ""},
    {"logf", "__logf", ""},
    {"log2f", "__log2f", ""},
    {"log10f", "__log10f", ""},
    {"sinf", "__sinf", ""},
    {"cosf", "__cosf", ""},
    {"powf", "__powf", ""},
    {"tanhf", "quick_tanh",
     "__device__ __forceinline__ float quick_tanh(float x) {\n"
     "  const float e = __expf(-2.0f * fabsf(x));\n"
     "  return copysignf(__fdividef(1.0f - e, 1.0f + e), x);\n}\n"},
    {"expm1f", "quick_expm1", "__device__ __forceinline__ float quick_expm1(float x) { return __expf(x) - 1.0f; }\n"},
    {"log1pf", "quick_log1p", "__device__ __forceinline__ float quick_log1p(float x) { return __logf(1.0f + x); }\n"},
}};
constexpr std::array<int, 3> unroll_factors{4, 2, 8};
constexpr std::size_t most_tokens_of_an_operand = 64;
constexpr std::size_t most_loops = 8;

struct TextEdit {
  std::size_t offset = 0;
  std::size_t bytes = 0;  // that are replaced
  std::string text;
};

std::string edited(std::string_view kernel, std::vector<TextEdit> edits) {
  std::ranges::stable_sort(edits, {}, &TextEdit::offset);
  std::string text;
  std::size_t copied = 0;
  for (const TextEdit& edit : edits) {
    if (edit.offset < copied || edit.offset + edit.bytes > kernel.size()) continue;
    text.append(kernel.substr(copied, edit.offset - copied)).append(edit.text);
    copied = edit.offset + edit.bytes;
  }
  return text.append(kernel.substr(copied));
}

class EditWalk {
 public:
  explicit EditWalk(std::string_view kernel) : kernel_(kernel), stream_(lex(kernel, "")), tokens_(stream_.tokens) {}

  std::vector<KernelEdit> found() {
    if (!stream_.errors.empty() || stream_.spliced != nullptr)
      return {};  // a continued line: offsets are not the text's
    find_launcher();
    for (std::size_t i = 0; i + 1 < tokens_.size(); ++i)
      if (is(i, "float") && tokens_[i + 1].kind == TokenKind::identifier) floats_.insert(tokens_[i + 1].text);
    add_quick_forms();
    add_divisions();
    add_restrict();
    add_unrolled();
    if (edits_.size() > most_kernel_edits) edits_.resize(most_kernel_edits);
    return std::move(edits_);
  }

 private:
  bool is(std::size_t at, std::string_view text) const { return at < tokens_.size() && tokens_[at].is(text); }
  bool in_launcher(std::size_t at) const { return at >= launcher_first_ && at <= launcher_last_; }

  void add(std::vector<TextEdit> edits, std::string change, std::string kind) {
    if (!edits.empty()) edits_.push_back({edited(kernel_, std::move(edits)), std::move(change), std::move(kind)});
  }

  void find_launcher() {
    for (std::size_t i = 1; i < tokens_.size(); ++i) {
      if (!is(i, "launch") || !is(i - 1, "void")) continue;
      int depth = 0;
      for (std::size_t j = i; j < tokens_.size(); ++j) {
        if (is(j, ";") && depth == 0) break;
        if (is(j, "{")) ++depth;
        if (is(j, "}") && --depth == 0) {
          launcher_first_ = i;
          launcher_last_ = j;
          return;
        }
      }
    }
  }

  // Behind the last #include: helpers may be called by whatever follows.
  std::size_t front() const {
    std::size_t offset = 0;
    for (const Token& token : tokens_)
      if (token.kind == TokenKind::directive) {
        const auto inside = stream_.inside(token);
        if (!inside.empty() && inside[0].is("include")) offset = token.end_offset();
      }
    return offset;
  }

  void add_quick_forms() {
    std::vector<TextEdit> all;
    std::string helpers;
    const auto defined = [&](std::string_view name) {
      for (std::size_t i = 0; i + 1 < tokens_.size(); ++i)
        if (is(i, name) && i > 0 && tokens_[i - 1].is("float") && is(i + 1, "(")) return true;
      return false;
    };
    std::size_t forms = 0;
    for (const QuickForm& form : quick_forms) {
      std::vector<TextEdit> edits;
      for (std::size_t i = 0; i + 1 < tokens_.size(); ++i)
        if (is(i, form.name) && is(i + 1, "(") && !in_launcher(i))
          edits.push_back({tokens_[i].offset, tokens_[i].bytes, std::string(form.quick)});
      if (edits.empty()) continue;
      ++forms;
      all.insert(all.end(), edits.begin(), edits.end());
      const bool helped = !form.helper.empty() && !defined(form.quick);
      if (helped) {
        helpers += form.helper;
        edits.push_back({front(), 0, "\n" + std::string(form.helper)});
      }
      add(std::move(edits), fmt::format("{} -> {}", form.name, form.quick), std::string(form.name));
    }
    if (forms < 2) return;
    if (!helpers.empty()) all.push_back({front(), 0, "\n" + helpers});
    add(std::move(all), "quick functions", "quick functions");
  }

  // The first and last token of the operand that ends, or begins, here; nothing where it is not plain.
  std::optional<std::size_t> begin_of_operand(std::size_t last) const {
    std::size_t at = last;
    for (std::size_t steps = 0; steps < most_tokens_of_an_operand; ++steps) {
      if (is(at, ")") || is(at, "]")) {
        int depth = 0;
        for (;; --at) {
          if (is(at, ")") || is(at, "]")) ++depth;
          if ((is(at, "(") || is(at, "[")) && --depth == 0) break;
          if (at == 0 || last - at > most_tokens_of_an_operand) return std::nullopt;
        }
        // A call or an index: what it is of comes before.
        if (at > 0 && (tokens_[at - 1].kind == TokenKind::identifier || is(at - 1, "]") || is(at - 1, ")"))) {
          if (is(at - 1, "return")) return at;
          --at;
          continue;
        }
        return at;
      }
      if (tokens_[at].kind != TokenKind::identifier && tokens_[at].kind != TokenKind::number) return std::nullopt;
      if (at >= 2 && is(at - 1, ".")) {
        at -= 2;
        continue;
      }
      return at;
    }
    return std::nullopt;
  }

  std::optional<std::size_t> end_of_operand(std::size_t first) const {
    if (first >= tokens_.size()) return std::nullopt;
    const TokenKind kind = tokens_[first].kind;
    if (kind == TokenKind::number) return first;
    std::size_t at = first;
    if (kind == TokenKind::identifier)
      ++at;
    else if (!is(first, "("))
      return std::nullopt;
    for (std::size_t steps = 0; steps < most_tokens_of_an_operand; ++steps) {
      if (is(at, "(") || is(at, "[")) {
        int depth = 0;
        for (;; ++at) {
          if (at >= tokens_.size() || at - first > most_tokens_of_an_operand) return std::nullopt;
          if (is(at, "(") || is(at, "[")) ++depth;
          if ((is(at, ")") || is(at, "]")) && --depth == 0) break;
        }
        ++at;
      } else if (is(at, ".") && at + 1 < tokens_.size()) {
        at += 2;
      } else {
        return at - 1;
      }
    }
    return std::nullopt;
  }

  // As far as the text says: a literal `1.0f`, a variable declared as `float`, a function whose name ends in f.
  bool is_float(std::size_t first, std::size_t last) const {
    const Token& token = tokens_[first];
    if (token.kind == TokenKind::number) return token.text.ends_with('f') && !token.text.starts_with("0x");
    if (token.kind == TokenKind::identifier) {
      if (last > first && is(first + 1, "("))
        return token.text.ends_with("f") || token.text.starts_with("__float2") || token.text.starts_with("quick_");
      return floats_.contains(token.text) && !is(first + 1, ".");
    }
    for (std::size_t i = first + 1; i < last; ++i)  // in brackets: any literal makes all of it a float
      if (tokens_[i].kind == TokenKind::number && is_float(i, i)) return true;
    return last == first + 2 && is_float(first + 1, first + 1);
  }

  void add_divisions() {
    std::vector<TextEdit> all;
    std::size_t covered = 0;  // operands within operands are left alone
    for (std::size_t i = 1; i + 1 < tokens_.size(); ++i) {
      if (!is(i, "/") || in_launcher(i)) continue;
      const auto first = begin_of_operand(i - 1), last = end_of_operand(i + 1);
      if (!first || !last || *first < covered) continue;
      if (!is_float(*first, i - 1) && !is_float(i + 1, *last)) continue;
      const auto text = [&](std::size_t from, std::size_t to) {
        return std::string(kernel_.substr(tokens_[from].offset, tokens_[to].end_offset() - tokens_[from].offset));
      };
      all.push_back({tokens_[*first].offset, tokens_[*last].end_offset() - tokens_[*first].offset,
                     fmt::format("__fdividef({}, {})", text(*first, i - 1), text(i + 1, *last))});
      covered = *last + 1;
    }
    add(std::move(all), "quick divisions", "division");
  }

  void add_restrict() {
    std::vector<TextEdit> all;
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (!is(i, "__global__")) continue;
      while (i < tokens_.size() && !is(i, "(")) ++i;
      int depth = 0;
      for (; i + 1 < tokens_.size() && !is(i, "{") && !is(i, ";"); ++i) {
        if (is(i, "(")) ++depth;
        if (is(i, ")") && --depth == 0) break;
        if (depth == 1 && is(i, "*") && tokens_[i + 1].kind == TokenKind::identifier && !is(i + 1, "__restrict__") &&
            !is(i + 1, "const") && (is(i + 2, ",") || is(i + 2, ")")))
          all.push_back({tokens_[i].end_offset(), 0, " __restrict__ "});
      }
    }
    add(std::move(all), "__restrict__", "restrict");
  }

  void add_unrolled() {
    std::size_t loops = 0;
    for (std::size_t i = 1; i < tokens_.size() && loops < most_loops; ++i) {
      if (!is(i, "for") || in_launcher(i) || tokens_[i - 1].kind == TokenKind::directive) continue;
      if (!is(i - 1, ";") && !is(i - 1, "{") && !is(i - 1, "}") && !is(i - 1, ")")) continue;
      ++loops;
      for (const int factor : unroll_factors)
        add({{tokens_[i].offset, 0, fmt::format("\n#pragma unroll {}\n", factor)}},
            fmt::format("unroll {} at line {}", factor, tokens_[i].line), "unroll");
    }
  }

  std::string_view kernel_;
  const TokenStream stream_;
  const std::vector<Token>& tokens_;
  std::size_t launcher_first_ = 1, launcher_last_ = 0;
  std::set<std::string_view> floats_;
  std::vector<KernelEdit> edits_;
};

}  // namespace

std::vector<KernelEdit> kernel_edits(std::string_view kernel) {
  if (kernel.empty() || kernel.size() > max_edited_kernel_bytes) return {};
  return EditWalk(kernel).found();
}

}  // namespace kw
