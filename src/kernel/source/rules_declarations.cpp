// Which tokens are device code, which are host code, and what is declared outside functions. Works on tokens, not on a
// grammar, so that no syntax error can hide a declaration from the rules.

#include <algorithm>
#include <optional>

#include "kernel/source/rules_reading.h"

namespace kw {
namespace {

bool opens(const Token& token) {
  return token.kind == TokenKind::punctuator && (token.is("(") || token.is("[") || token.is("{"));
}
bool closes(const Token& token) {
  return token.kind == TokenKind::punctuator && (token.is(")") || token.is("]") || token.is("}"));
}
bool is_pair(const Token& open, const Token& close) {
  return (open.is("(") && close.is(")")) || (open.is("[") && close.is("]")) || (open.is("{") && close.is("}"));
}

void match_brackets(Reading& reading) {
  const std::vector<Token>& tokens = reading.tokens;
  reading.closing.assign(tokens.size(), tokens.size());
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (opens(tokens[i])) open.push_back(i);
    if (!closes(tokens[i])) continue;
    // A `}` closes forgotten ( and [ as well; a stray ) or ] closes nothing.
    while (tokens[i].is("}") && !open.empty() && !tokens[open.back()].is("{")) open.pop_back();
    if (open.empty() || !is_pair(tokens[open.back()], tokens[i])) continue;
    reading.closing[open.back()] = i;
    open.pop_back();
  }
}

class DeclarationFinder {
 public:
  explicit DeclarationFinder(Reading& reading) : reading_(reading), tokens_(reading.tokens) {}

  void run() {
    reading_.sides.assign(tokens_.size(), Side::file);
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      const Token& token = tokens_[i];
      if (!scopes_.empty() && scopes_.back().kind == Scope::function) {
        // A device lambda or a local class with device members: what follows may run on the device.
        if (token.is("__device__") || token.is("__global__")) scopes_.back().side = Side::device;
        reading_.sides[i] = scopes_.back().side;
        if (i == scopes_.back().end) leave(i);
        continue;
      }
      if (token.kind != TokenKind::punctuator) continue;
      if (token.is("(") || token.is("[")) {  // parameters and attributes are part of the declaration
        i = std::min(reading_.closing[i], tokens_.size() - 1);
      } else if (token.is("{")) {
        enter(i);
      } else if (token.is("}")) {
        leave(i);
      } else if (token.is(";")) {
        add(i, false);
        begin_declaration(i + 1);
      } else if (token.is(":") && i > first_ && is_access_word(tokens_[i - 1])) {
        begin_declaration(i + 1);
      }
    }
    if (first_ < tokens_.size()) add(tokens_.size(), false);
  }

 private:
  struct Scope {
    enum Kind { name_space, type, function, braces };
    Kind kind;
    Side side = Side::file;
    std::size_t end = 0;     // of a function
    std::size_t first = 0;   // where the declaration began
    std::size_t groups = 0;  // of that declaration
  };

  static bool is_access_word(const Token& token) {
    return token.is("public") || token.is("private") || token.is("protected");
  }

  bool in_type() const { return !scopes_.empty() && scopes_.back().kind == Scope::type; }

  // What the tokens from first_ to `end` look like, brackets and template parameters skipped.
  struct Shape {
    bool name_space = false, class_key = false, enumeration = false, assignment = false, type_name = false;
    bool device = false;
    std::optional<std::size_t> parameters;  // the first ( at the declaration's own level
  };

  Shape shape(std::size_t end) const {
    Shape result;
    for (std::size_t i = first_; i < end; ++i) {
      const Token& token = tokens_[i];
      if (opens(token)) {
        const bool annotation = i > first_ && is_annotation(tokens_[i - 1]);
        if (token.is("(") && !result.parameters && !annotation && !result.assignment) result.parameters = i;
        i = std::min(reading_.closing[i], end);
        continue;
      }
      if (token.is("<") && i > first_ && tokens_[i - 1].is("template")) {
        i = skip_template(i, end);
        continue;
      }
      if (token.is("=")) result.assignment = true;
      if (token.is("namespace")) result.name_space = true;
      if (token.is("enum")) result.enumeration = true;
      if (token.is("using") || token.is("typedef") || token.is("friend") || token.is("static_assert")) {
        result.type_name = true;
      }
      if (token.is("struct") || token.is("class") || token.is("union")) result.class_key = true;
      if (token.is("__device__") || token.is("__global__")) result.device = true;
    }
    return result;
  }

  static bool is_annotation(const Token& token) {
    return token.is("alignas") || token.is("__align__") || token.is("__attribute__") || token.is("__launch_bounds__") ||
           token.is("__declspec") || token.is("noexcept") || token.is("decltype") || token.is("__cluster_dims__") ||
           token.is("__maxnreg__") || token.is("explicit") || token.is("requires") || token.is("__block_size__");
  }

  std::size_t skip_template(std::size_t at, std::size_t end) const {
    constexpr std::size_t longest = 500;  // tokens of a parameter list
    int depth = 0;
    for (std::size_t i = at; i < std::min(end, at + longest); ++i) {
      const Token& token = tokens_[i];
      if (token.kind != TokenKind::punctuator) continue;
      if (opens(token)) {
        i = std::min(reading_.closing[i], end);
      } else if (token.is("<")) {
        ++depth;
      } else if (token.is(">") || token.is(">>") || token.is(">>>")) {
        depth -= static_cast<int>(token.text.size());
        if (depth <= 0) return i;
      }
    }
    return at;
  }

  void enter(std::size_t at) {
    const Shape seen = shape(at);
    Scope scope{Scope::braces, Side::file, 0, first_, groups_};
    const bool linkage_block = at >= first_ + 2 && tokens_[first_].is("extern") && at == first_ + 2;
    if (seen.name_space || linkage_block || at == first_) {
      scope.kind = Scope::name_space;
    } else if (seen.enumeration || seen.assignment) {
      scope.kind = Scope::braces;
    } else if (seen.class_key && !seen.parameters) {
      scope.kind = Scope::type;
    } else if (seen.parameters) {
      scope.kind = Scope::function;
      scope.side = seen.device ? Side::device : Side::host;
      scope.end = std::min(reading_.closing[at], tokens_.size() - 1);
      add(at, true);
    }
    scopes_.push_back(scope);
    if (scope.kind != Scope::braces) begin_declaration(at + 1);
  }

  void leave(std::size_t at) {
    if (scopes_.empty()) return begin_declaration(at + 1);
    const Scope scope = scopes_.back();
    scopes_.pop_back();
    // `struct S {...} s;` and `int a[] = {...};` go on after the brace.
    const bool goes_on = scope.kind == Scope::type || scope.kind == Scope::braces;
    if (goes_on && scope.groups < max_groups) {
      first_ = scope.first;
      groups_ = scope.groups + 1;
    } else {
      begin_declaration(at + 1);
    }
  }

  void begin_declaration(std::size_t at) {
    first_ = at;
    groups_ = 0;
  }

  // The name is the last identifier before the parameters, or before `=`, `[`, `{` or the end of a variable.
  std::size_t name_before(std::size_t begin, std::size_t end) const {
    std::size_t name = begin;
    for (std::size_t i = begin; i < end; ++i) {
      if (tokens_[i].is("<") && i > begin && tokens_[i - 1].is("template")) {  // has an = where it has defaults
        i = skip_template(i, end);
        continue;
      }
      if (tokens_[i].kind == TokenKind::identifier) name = i;
      if (tokens_[i].is("[") && i + 1 < end && tokens_[i + 1].is("[")) {  // [[nodiscard]]
        i = std::min(reading_.closing[i], end);
        continue;
      }
      if (tokens_[i].is("[") || tokens_[i].is("=") || tokens_[i].is("{") || tokens_[i].is(";")) break;
      if (tokens_[i].is("(")) i = std::min(reading_.closing[i], end);
    }
    return name;
  }

  // `cast<float, half>(`: where the template arguments in front of the parameters begin.
  std::size_t before_arguments(std::size_t parameters) const {
    constexpr std::size_t longest = 500;  // tokens
    if (parameters < first_ + 2 || !tokens_[parameters - 1].is(">") || tokens_[parameters - 2].is("operator"))
      return parameters;
    int depth = 0;
    for (std::size_t i = parameters; i-- > first_ + 1 && parameters - i < longest;) {
      if (tokens_[i].is("{") || tokens_[i].is(";")) break;
      if (tokens_[i].is(">")) ++depth;
      if (tokens_[i].is("<") && --depth == 0) return tokens_[i - 1].kind == TokenKind::identifier ? i : parameters;
    }
    return parameters;
  }

  void add(std::size_t end, bool has_body) {
    if (end <= first_ || (!scopes_.empty() && scopes_.back().kind == Scope::braces)) return;
    const Shape seen = shape(end);
    Declaration declaration;
    declaration.first = first_;
    declaration.last = end;
    declaration.name = first_;
    declaration.in_type = in_type();
    if (seen.type_name || seen.name_space || seen.enumeration) {
      declaration.kind = Declaration::Kind::other;
    } else if (seen.parameters && has_body) {
      declaration.kind = Declaration::Kind::function_body;
      declaration.name = name_before(first_, before_arguments(*seen.parameters));
    } else if (seen.parameters && !seen.assignment && looks_like_parameters(*seen.parameters)) {
      declaration.kind = Declaration::Kind::function;
      declaration.name = name_before(first_, *seen.parameters);
    } else if (seen.class_key) {
      declaration.kind = Declaration::Kind::type;
    } else {
      declaration.kind = Declaration::Kind::variable;
      declaration.name = name_before(first_, seen.parameters.value_or(end));
    }
    reading_.declarations.push_back(declaration);
  }

  // `float f(const float* x)` declares a function, `Table t(3, "x")` constructs an object.
  bool looks_like_parameters(std::size_t open) const {
    const std::size_t end = std::min(reading_.closing[open], tokens_.size());
    if (end == open + 1) return true;
    const Token& first = tokens_[open + 1];
    if (first.kind != TokenKind::identifier) return first.is("...");
    if (end == open + 2) return is_keyword(first.text) || first.text.ends_with("_t");
    const Token& second = tokens_[open + 2];
    if (second.is(",") && is_keyword(first.text)) return true;  // `float f(float, int);`
    return second.kind == TokenKind::identifier || second.is("*") || second.is("&") || second.is("::") ||
           second.is("<") || second.is("&&");
  }

  Reading& reading_;
  const std::vector<Token>& tokens_;
  std::vector<Scope> scopes_;
  std::size_t first_ = 0;   // of the present declaration
  std::size_t groups_ = 0;  // brace groups that it has gone on after; bounded, since each one is looked over again
  static constexpr std::size_t max_groups = 16;
};

}  // namespace

void find_declarations(Reading& reading) {
  match_brackets(reading);
  DeclarationFinder(reading).run();
}

}  // namespace kw
