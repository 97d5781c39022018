#include "kernel/source/fingerprint.h"

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/hash.h"
#include "kernel/source/host_type.h"
#include "kernel/source/lexer.h"

namespace kw {
namespace {

// All tokens in order, those of directives included.
std::vector<Token> all_tokens(const TokenStream& stream) {
  std::vector<Token> tokens;
  for (const Token& token : stream.tokens) {
    if (token.kind != TokenKind::directive) {
      tokens.push_back(token);
      continue;
    }
    Token hash = token;
    hash.text = "#";
    tokens.push_back(hash);
    const auto inside = stream.inside(token);
    tokens.insert(tokens.end(), inside.begin(), inside.end());
    Token end = token;  // where a directive ends matters
    end.text = "\n";
    tokens.push_back(end);
  }
  return tokens;
}

// Names that are never the file's own, even where they look declared: `a * warpSize;`.
bool is_built_in(std::string_view name) {
  if (is_keyword(name) || name.starts_with("__") || name.starts_with("cuda") || name.starts_with("atomic")) return true;
  static const std::unordered_set<std::string_view> words = [] {
    std::unordered_set<std::string_view> set = {
        "threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize", "std",     "min",    "max",    "abs",     "fabsf",
        "fabs",      "sqrtf",    "sqrt",     "rsqrtf",  "rsqrt",    "expf",    "exp",    "exp2f",  "logf",    "log",
        "log2f",     "log2",     "powf",     "pow",     "sinf",     "cosf",    "tanhf",  "tanh",   "erff",    "erf",
        "fmaxf",     "fminf",    "fmax",     "fmin",    "floorf",   "floor",   "ceilf",  "ceil",   "roundf",  "round",
        "fmaf",      "fma",      "INFINITY", "NAN",     "FLT_MAX",  "INT_MAX", "printf", "assert", "defined", "define",
        "undef",     "ifdef",    "ifndef",   "elif",    "endif",    "include", "pragma", "unroll", "error"};
    for (const std::string_view type : builtin_type_names()) set.insert(type);
    return set;
  }();
  return words.contains(name);
}

bool is_expression_word(std::string_view word) {
  return word == "return" || word == "case" || word == "goto" || word == "throw" || word == "sizeof" || word == "new" ||
         word == "delete" || word == "else" || word == "do" || word == "defined" || word == "include" ||
         word == "pragma" || word == "ifdef" || word == "ifndef" || word == "undef" || word == "unroll" ||
         word == "and" || word == "or" || word == "not";
}

// Collects the names that stand where a declaration puts them.
std::unordered_set<std::string_view> declared_names(const std::vector<Token>& tokens) {
  std::unordered_set<std::string_view> declared;
  const auto text = [&](std::size_t i) { return i < tokens.size() ? tokens[i].text : std::string_view(); };
  const auto is_name = [&](std::size_t i) { return i < tokens.size() && tokens[i].kind == TokenKind::identifier; };
  int enum_depth = 0;  // inside the braces of an enum
  bool enum_head = false;
  int depth = 0;        // of round and square brackets
  int list_depth = -1;  // where a declaration may go on after a comma: `int a, b`
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string_view here = tokens[i].text;
    if (here == "enum") enum_head = true;
    if (here == ";" || here == "{" || here == "}") list_depth = -1;
    if (here == ";") enum_head = false;
    if (here == "(" || here == "[") ++depth;
    if ((here == ")" || here == "]") && --depth < list_depth) list_depth = -1;
    if (here == "{" && enum_head) {
      ++enum_depth;
      enum_head = false;
    } else if (here == "}" && enum_depth > 0) {
      --enum_depth;
    }
    if (here == "#" && text(i + 1) == "define" && is_name(i + 2)) {
      declared.insert(text(i + 2));
      if (text(i + 3) == "(" && !tokens[i + 3].space_before) {
        for (std::size_t k = i + 4; k < tokens.size() && text(k) != ")" && text(k) != "\n"; ++k) {
          if (is_name(k)) declared.insert(text(k));
        }
      }
    }
    if (!is_name(i) || i == 0 || is_built_in(here)) continue;
    const std::string_view before = text(i - 1), after = text(i + 1);
    if (enum_depth > 0 && (before == "{" || before == ",")) declared.insert(here);
    const bool ends = after == "=" || after == ";" || after == "," || after == ")" || after == "[" || after == "(" ||
                      after == "{" || after == ":" || after == ">" || after == "\n";
    if (!ends) continue;
    const bool typed = is_name(i - 1) && !is_expression_word(before);
    const bool pointed = (before == "*" || before == "&" || before == "&&" || before == ">") && i > 1;
    const bool listed = before == "," && depth == list_depth;
    if (!typed && !pointed && !listed) continue;
    declared.insert(here);
    if (typed) list_depth = depth;
  }
  return declared;
}

}  // namespace

std::string fingerprint(std::string_view source) {
  const TokenStream stream = lex(source, "");
  const std::vector<Token> tokens = all_tokens(stream);
  const std::unordered_set<std::string_view> declared = declared_names(tokens);
  std::unordered_map<std::string_view, std::size_t> numbers;
  std::string canonical;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const Token& token = tokens[i];
    const bool member = i > 0 && (tokens[i - 1].is(".") || tokens[i - 1].is("->"));
    const bool vector_member = member && (token.is("x") || token.is("y") || token.is("z") || token.is("w"));
    if (token.kind == TokenKind::identifier && !vector_member && declared.contains(token.text)) {
      const std::size_t number = numbers.try_emplace(token.text, numbers.size()).first->second;
      canonical += "@" + std::to_string(number);
    } else {
      // Lengths keep a literal that contains the separator from imitating two tokens.
      canonical += std::to_string(token.text.size()) + ":";
      canonical += token.text;
    }
    canonical += '\n';
  }
  return sha256_hex(canonical);
}

}  // namespace kw
