#pragma once
// Macro definitions and their expansion.

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "kernel/source/lexer.h"

namespace kw {

struct Macro {
  std::string_view name;
  bool function_like = false;
  bool variadic = false;                     // the last parameter takes the rest; `...` is named __VA_ARGS__
  std::vector<std::string_view> parameters;  // in order
  std::vector<Token> body;
};

// The file's macros over the predefined ones.
class MacroTable {
 public:
  std::shared_ptr<const Macro> find(std::string_view name) const;  // null when there is none
  bool contains(std::string_view name) const { return find(name) != nullptr; }
  void define(Macro macro);
  void undefine(std::string_view name) { macros_[name] = nullptr; }

 private:
  std::unordered_map<std::string_view, std::shared_ptr<const Macro>> macros_;  // null: undefined
};

// `#define NAME...`: the directive's tokens after `define`.
Result<Macro> read_macro(std::span<const Token> tokens, std::string_view file);

// Expands a flow of tokens. `source` gives the next token of the file, or nothing at its end.
class MacroExpander {
 public:
  MacroExpander(const MacroTable& macros, std::deque<std::string>& made, std::string_view file, std::size_t max_work,
                int max_depth)
      : macros_(macros), made_(made), file_(file), work_left_(max_work), max_depth_(max_depth) {}

  using Source = std::function<Result<std::optional<Token>>()>;

  // The next token that no macro replaces any more; nothing at the end.
  Result<std::optional<Token>> next(const Source& source);

  // All of a short list, for #if lines.
  Result<std::vector<Token>> expand(std::span<const Token> tokens);

 private:
  struct PlainToken {
    Token token;
    bool frozen = false;  // met while its own macro was being expanded: never again a macro's name
  };
  struct Context {
    std::vector<PlainToken> tokens;
    std::size_t at = 0;
    const Macro* macro = nullptr;  // disabled while this context is read
    std::shared_ptr<const Macro> owner;
  };
  struct Reader {
    const Source* source = nullptr;
    std::vector<Context> contexts;
    std::optional<PlainToken> pushed_back;
  };
  using Arguments = std::vector<std::vector<PlainToken>>;

  Result<std::optional<PlainToken>> read(Reader& reader);
  Result<std::optional<PlainToken>> next_expanded(Reader& reader, int depth);
  Result<std::vector<PlainToken>> expand_all(std::vector<PlainToken> tokens, int depth);
  Result<std::optional<Arguments>> read_arguments(Reader& reader, const Macro& macro, Token& invocation);
  Result<std::vector<PlainToken>> substitute(const Macro& macro, const Arguments& arguments, const Token& invocation,
                                             int depth);
  Result<Token> paste(const Token& left, const Token& right, const Token& invocation);
  bool charge_text(std::size_t bytes);
  Result<Token> stringise(const std::vector<PlainToken>& argument, const Token& invocation);
  std::optional<Token> expand_special(const Token& token);
  std::string_view keep(std::string text);
  Error too_much(const Token& token) const;

  const MacroTable& macros_;
  std::deque<std::string>& made_;
  std::string_view file_;
  std::size_t work_left_;
  int max_depth_;
  int counter_ = 0;
  Reader main_;
};

}  // namespace kw
