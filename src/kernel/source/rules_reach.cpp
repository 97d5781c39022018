#include "kernel/source/rules_reach.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "kernel/source/needed_units.h"
#include "kernel/source/rules_plain_class.h"

namespace kw {
namespace {

// Where the work of a PyTorch extension begins, unless the file has a launcher: what it exports.
bool is_extension_root(std::string_view name) {
  return name == "PYBIND11_MODULE" || name == "forward" || name == "TORCH_LIBRARY" || name == "TORCH_LIBRARY_IMPL";
}

// A macro whose body opens or closes more braces than it closes or opens moves the ends of functions.
bool has_unbalanced_macro(const TokenStream& stream) {
  for (const Token& directive : stream.tokens) {
    if (directive.kind != TokenKind::directive) continue;
    const auto inside = stream.inside(directive);
    if (inside.empty() || !inside[0].is("define")) continue;
    int depth = 0;
    for (const Token& token : inside) {
      if (token.is("{")) ++depth;
      if (token.is("}") && --depth < 0) return true;
    }
    if (depth != 0) return true;
  }
  return false;
}

bool is_unconditional(const TokenStream& stream, std::uint32_t offset) {
  int depth = 0;
  for (const Token& token : stream.tokens) {
    if (token.offset >= offset) break;
    if (token.kind != TokenKind::directive) continue;
    const auto inside = stream.inside(token);
    if (inside.empty()) continue;
    if (inside[0].text.starts_with("if")) ++depth;
    if (inside[0].is("endif")) --depth;
  }
  return depth == 0;
}

class Reach {
 public:
  Reach(const RuleInput& input, const Reading& reading)
      : input_(input), reading_(reading), tokens_(reading.tokens), classes_(input, reading) {}

  std::vector<bool> run() {
    std::vector<bool> unreached(tokens_.size(), false);
    find_roots();
    if (!has_root_ || has_unbalanced_macro(input_.stream)) return unreached;
    find_bodies();
    std::vector<bool> inside(tokens_.size(), false);
    for (const Body& body : bodies_) std::fill(at(inside, body.first), at(inside, body.end + 1), true);
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (!inside[i]) reach(i);
    }
    for (std::size_t next = 0; next < reached_.size(); ++next) {
      const Body& body = bodies_[reached_[next]];
      for (std::size_t i = body.first; i <= body.end; ++i) reach(i);
    }
    for (const Body& body : bodies_) {
      if (!body.reached) std::fill(at(unreached, body.first), at(unreached, body.end + 1), true);
    }
    // `void print(const float* a, std::ofstream& file);` of a function that nobody calls.
    for (const Declaration& declaration : reading_.declarations) {
      if (declaration.kind != Declaration::Kind::function || declaration.in_type || !is_host_prototype(declaration)) {
        continue;
      }
      if (named_.contains(tokens_[declaration.name].text)) continue;
      std::fill(at(unreached, declaration.first), at(unreached, declaration.last), true);
    }
    return unreached;
  }

 private:
  struct Body {
    std::size_t first = 0;  // of the declaration
    std::size_t end = 0;    // the closing brace
    bool reached = false;
  };

  static std::vector<bool>::iterator at(std::vector<bool>& flags, std::size_t i) {
    return flags.begin() + static_cast<std::ptrdiff_t>(i);
  }

  void find_roots() {
    for (std::size_t i = 0; i + 2 < tokens_.size(); ++i) {
      has_c_block_ = has_c_block_ ||
                     (tokens_[i].is("extern") && tokens_[i + 1].kind == TokenKind::string && tokens_[i + 2].is("{"));
    }
    for (const Declaration& declaration : reading_.declarations) {
      const bool body = declaration.kind == Declaration::Kind::function_body;
      if (body || declaration.kind == Declaration::Kind::function) ++declared_[tokens_[declaration.name].text];
    }
    for (const Declaration& declaration : reading_.declarations) {
      if (declaration.kind != Declaration::Kind::function_body || declaration.in_type) continue;
      const std::string_view name = tokens_[declaration.name].text;
      has_launcher_ = has_launcher_ || is_launcher(declaration);
      has_root_ = has_root_ || name == "launch" || is_extension_root(name);
    }
  }

  // `extern "C" void launch(` of no tensors, as it is written: what is judged, whatever the file exports to PyTorch.
  bool is_launcher(const Declaration& declaration) const {
    const std::size_t first = declaration.first, parameters = declaration.name + 1, open = declaration.last;
    if (!tokens_[declaration.name].is("launch") || declaration.name != first + 3 || open >= tokens_.size())
      return false;
    if (!tokens_[first].is("extern") || !tokens_[first + 1].is("\"C\"") || !tokens_[first + 2].is("void")) return false;
    for (std::size_t i = first; i <= open; ++i) {
      if (!is_as_written(input_.stream, tokens_[i]) || tokens_[i].is("Tensor")) return false;
    }
    // Outside of every #if: each reading has it.
    return tokens_[parameters].is("(") && reading_.closing[parameters] + 1 == open &&
           is_unconditional(input_.stream, tokens_[first].offset);
  }

  bool is_root(std::string_view name) const { return name == "launch" || (!has_launcher_ && is_extension_root(name)); }

  void find_bodies() {
    names_.insert(classes_.declaring_tokens().begin(), classes_.declaring_tokens().end());
    for (const Declaration& declaration : reading_.declarations) {
      const bool function =
          declaration.kind == Declaration::Kind::function_body || declaration.kind == Declaration::Kind::function;
      if (!function || declaration.in_type) continue;
      names_.insert(declaration.name);
      if (declaration.kind != Declaration::Kind::function_body || !is_plain(declaration)) continue;
      by_name_[tokens_[declaration.name].text].push_back(bodies_.size());
      // Who makes an object of the class may have a library call what it overrides.
      const std::string_view type = classes_.class_of_member(declaration);
      if (!type.empty()) by_name_[type].push_back(bodies_.size());
      bodies_.push_back({declaration.first, reading_.closing[declaration.last], false});
    }
  }

  // `void name(parameters) {`: a host function that only its name can call, written out where it stands.
  bool is_plain(const Declaration& declaration) const {
    const std::size_t open = declaration.last, end = open < tokens_.size() ? reading_.closing[open] : open;
    if (end >= tokens_.size() || reading_.sides[end] != Side::host) return false;
    const Token& name = tokens_[declaration.name];
    if (is_root(name.text) || is_called_unnamed(name.text) || is_keyword(name.text)) return false;
    if (name.text.starts_with("_") && !has_mangled_name(declaration)) return false;
    const std::size_t parameters = declaration.name + 1;
    if (!tokens_[parameters].is("(") || reading_.closing[parameters] + 1 != open) return false;
    const bool qualified = declaration.name > 0 && tokens_[declaration.name - 1].is("::");
    if (qualified && classes_.class_of_member(declaration).empty()) return false;
    static const std::unordered_set<std::string_view> unusual = {
        "operator", "struct", "class",    "union",    "enum",    "namespace", "concept",
        "requires", "using",  "decltype", "template", "alignas", "[",         "__attribute__"};
    for (std::size_t i = declaration.first; i < declaration.name; ++i) {
      if (is_harmless_attribute(i)) {
        i = reading_.closing[i];
        continue;
      }
      if (unusual.contains(tokens_[i].text) && !is_template_head(declaration, i)) return false;
    }
    for (const std::size_t i : {declaration.first, declaration.name, open, end}) {
      if (!is_as_written(input_.stream, tokens_[i])) return false;
    }
    const std::uint32_t begin = tokens_[declaration.first].offset;
    return begin < tokens_[open].offset && tokens_[open].offset < tokens_[end].offset &&
           has_balanced_branches(input_.stream, begin, tokens_[end].offset);
  }

  // Libraries call `_init` and the like. A function that a linker does not see under its plain name is none of them.
  bool has_mangled_name(const Declaration& declaration) const {
    if (tokens_[declaration.first].is("template")) return true;
    bool is_inline = false;
    for (std::size_t i = declaration.first; i < declaration.name; ++i) {
      if (tokens_[i].is("static")) return true;
      is_inline = is_inline || tokens_[i].is("inline");
    }
    return is_inline && !has_c_block_ && declared_.at(tokens_[declaration.name].text) == 1;
  }

  // `[[nodiscard]]` changes nothing; `[[gnu::constructor]]` would call the function.
  bool is_harmless_attribute(std::size_t i) const {
    return i + 4 < tokens_.size() && tokens_[i].is("[") && tokens_[i + 1].is("[") &&
           (tokens_[i + 2].is("nodiscard") || tokens_[i + 2].is("maybe_unused")) && tokens_[i + 3].is("]") &&
           reading_.closing[i] == i + 4;
  }

  bool is_host_prototype(const Declaration& declaration) const {
    const std::size_t parameters = declaration.name + 1;
    if (parameters >= tokens_.size() || !tokens_[parameters].is("(")) return false;
    if (reading_.closing[parameters] + 1 != declaration.last) return false;
    if (declaration.name > 0 && tokens_[declaration.name - 1].is("::")) return false;
    for (std::size_t i = declaration.first; i < declaration.name; ++i) {
      if (tokens_[i].is("__device__") || tokens_[i].is("__global__") || tokens_[i].is("operator")) return false;
    }
    return true;
  }

  // `template <class T, typename U>` before a function: `class` is a parameter's there.
  bool is_template_head(const Declaration& declaration, std::size_t i) const {
    if (tokens_[i].is("template")) return i == declaration.first;
    return tokens_[i].is("class") && tokens_[declaration.first].is("template") && i > 0 &&
           (tokens_[i - 1].is("<") || tokens_[i - 1].is(","));
  }

  void reach(std::size_t i) {
    if (tokens_[i].kind != TokenKind::identifier || names_.contains(i)) return;
    named_.insert(tokens_[i].text);
    const auto found = by_name_.find(tokens_[i].text);
    if (found == by_name_.end()) return;
    for (const std::size_t number : found->second) {
      if (!bodies_[number].reached) reached_.push_back(number);
      bodies_[number].reached = true;
    }
    by_name_.erase(found);
  }

  const RuleInput& input_;
  const Reading& reading_;
  const std::vector<Token>& tokens_;
  PlainClasses classes_;
  bool has_root_ = false;
  bool has_launcher_ = false;
  bool has_c_block_ = false;
  std::unordered_map<std::string_view, int> declared_;  // how often a function's name is declared
  std::vector<Body> bodies_;
  std::unordered_map<std::string_view, std::vector<std::size_t>> by_name_;  // bodies that nobody has named yet
  std::unordered_set<std::size_t> names_;                                   // tokens that declare a function's name
  std::unordered_set<std::string_view> named_;                              // all words of what is reached
  std::vector<std::size_t> reached_;
};

}  // namespace

std::vector<bool> find_unreached_host_code(const RuleInput& input, const Reading& reading) {
  return Reach(input, reading).run();
}

}  // namespace kw
