#include "kernel/source/rules_plain_class.h"

#include <algorithm>
#include <map>

namespace kw {
namespace {

constexpr std::size_t max_base_tokens = 64;  // of a class's head, so that heads without a body cost little

}  // namespace

bool has_balanced_branches(const TokenStream& stream, std::uint32_t begin, std::uint32_t end) {
  std::vector<int> open;  // the depth of braces at each #if
  int depth = 0;
  const auto first = std::lower_bound(stream.tokens.begin(), stream.tokens.end(), begin,
                                      [](const Token& token, std::uint32_t offset) { return token.offset < offset; });
  for (auto token = first; token != stream.tokens.end() && token->offset <= end; ++token) {
    if (token->kind != TokenKind::directive) {
      if (token->is("{")) ++depth;
      if (token->is("}")) --depth;
      if (!open.empty() && depth < open.back()) return false;
      continue;
    }
    const auto inside = stream.inside(*token);
    if (inside.empty()) continue;
    const std::string_view word = inside[0].text;
    const bool ends = word == "endif";
    if (word.starts_with("if")) {
      open.push_back(depth);
    } else if (ends || word.starts_with("el")) {
      if (open.empty() || depth != open.back()) return false;
      if (ends) open.pop_back();
    }
  }
  return open.empty();
}

PlainClasses::PlainClasses(const RuleInput& input, const Reading& reading)
    : input_(input), reading_(reading), tokens_(reading.tokens) {
  find_classes();
  for (const auto& [name, body] : classes_) add_constructors(name, body);
  add_prototypes();
  for (const Declaration& declaration : reading_.declarations) {
    if (!class_of_member(declaration).empty()) declaring_.insert(declaration.name - 2);
  }
}

void PlainClasses::find_classes() {
  std::unordered_set<std::string_view> seen;
  for (std::size_t i = 0; i + 2 < tokens_.size(); ++i) {
    if ((!tokens_[i].is("class") && !tokens_[i].is("struct")) || tokens_[i + 1].kind != TokenKind::identifier) continue;
    // Behind anything else it is a template, an enumeration, a parameter or a variable's type.
    const bool begins = i == 0 || tokens_[i - 1].is(";") || tokens_[i - 1].is("}") || tokens_[i - 1].is("{");
    const std::size_t open = body_of(i + 1);
    if (open >= tokens_.size()) continue;
    const std::string_view name = tokens_[i + 1].text;
    const std::size_t head = i, close = reading_.closing[open];
    i = close;  // classes in it are none of these, and no text is looked over twice

    if (!seen.insert(name).second) {  // two of one name
      classes_.erase(name);
      continue;
    }
    if (!begins || close + 1 >= tokens_.size() || !tokens_[close + 1].is(";")) continue;
    const bool written = is_as_written(input_.stream, tokens_[head]) &&
                         is_as_written(input_.stream, tokens_[head + 1]) &&
                         is_as_written(input_.stream, tokens_[open]) && is_as_written(input_.stream, tokens_[close]);
    if (!written || !has_balanced_branches(input_.stream, tokens_[head].offset, tokens_[close].offset)) continue;
    classes_[name] = {open, close};
    declaring_.insert(head + 1);
  }
  std::erase_if(declaring_, [&](std::size_t head) { return !classes_.contains(tokens_[head].text); });
}

// The opening brace of `X {` or `X : public Y {`; tokens.size() where there is none.
std::size_t PlainClasses::body_of(std::size_t name) const {
  std::size_t i = name + 1;
  if (i < tokens_.size() && tokens_[i].is(":")) {
    const std::size_t most = std::min(tokens_.size(), i + max_base_tokens);
    while (i < most && !tokens_[i].is("{") && !tokens_[i].is(";") && !tokens_[i].is("(")) ++i;
  }
  return i < tokens_.size() && tokens_[i].is("{") && reading_.closing[i] < tokens_.size() ? i : tokens_.size();
}

// `X(int);`, `~X() {}` as members. Deeper in the body `X()` makes an object.
void PlainClasses::add_constructors(std::string_view name, const Body& body) {
  static const std::unordered_set<std::string_view> before = {";", "{", "}", "~", "explicit"};
  for (std::size_t i = body.open + 1; i < body.close; ++i) {
    const bool access = tokens_[i - 1].is(":") &&
                        (tokens_[i - 2].is("public") || tokens_[i - 2].is("private") || tokens_[i - 2].is("protected"));
    if (tokens_[i].text == name && tokens_[i + 1].is("(") && (access || before.contains(tokens_[i - 1].text))) {
      declaring_.insert(i);
    }
    if (tokens_[i].is("{") || tokens_[i].is("(")) i = std::min(reading_.closing[i], body.close);
  }
}

void PlainClasses::add_prototypes() {
  std::map<std::size_t, std::size_t> bodies;  // no two overlap
  for (const auto& [name, body] : classes_) bodies[body.open] = body.close;
  for (const Declaration& declaration : reading_.declarations) {
    if (!declaration.in_type || !is_prototype(declaration)) continue;
    const auto behind = bodies.upper_bound(declaration.first);
    if (behind != bodies.begin() && declaration.last < std::prev(behind)->second) declaring_.insert(declaration.name);
  }
}

// `int f(int a) const;`, `virtual void f() = 0;`
bool PlainClasses::is_prototype(const Declaration& declaration) const {
  const std::size_t parameters = declaration.name + 1;
  if (declaration.name <= declaration.first || parameters >= tokens_.size() || !tokens_[parameters].is("("))
    return false;
  bool declares = declaration.kind == Declaration::Kind::function;
  for (std::size_t i = declaration.first; i < declaration.name; ++i) declares = declares || tokens_[i].is("virtual");
  if (!declares) return false;
  static const std::unordered_set<std::string_view> behind = {"const", "noexcept", "override", "final", "=", "0"};
  for (std::size_t i = reading_.closing[parameters] + 1; i < declaration.last; ++i) {
    if (!behind.contains(tokens_[i].text)) return false;
  }
  return true;
}

std::string_view PlainClasses::class_of_member(const Declaration& declaration) const {
  const std::size_t name = declaration.name;
  const bool body = declaration.kind == Declaration::Kind::function_body && !declaration.in_type;
  if (!body || name < declaration.first + 3 || !tokens_[name - 1].is("::")) return {};  // without a type: a constructor
  const std::string_view type = tokens_[name - 2].text;
  if (tokens_[name - 3].is("::") || type == tokens_[name].text || !classes_.contains(type)) return {};
  return is_as_written(input_.stream, tokens_[name - 2]) ? type : std::string_view();
}

}  // namespace kw
