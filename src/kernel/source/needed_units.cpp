#include "kernel/source/needed_units.h"

#include <algorithm>

namespace kw {
namespace {

constexpr std::size_t longest_arguments = 500;  // tokens of template arguments

bool is_identifier(const Token& token) { return token.kind == TokenKind::identifier; }

bool ends_declarator(const Token& token) {
  return token.is("=") || token.is(";") || token.is(",") || token.is("[") || token.is("{") || token.is("(");
}

// `INSTANTIATE_LAYER`: what a macro of a missing header is called.
bool is_like_a_macro(std::string_view name) {
  return name.size() > 3 &&
         std::ranges::all_of(name, [](char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; });
}

// Namespaces of the compiler's own headers.
bool is_known_namespace(std::string_view name) {
  static const std::unordered_set<std::string_view> names = {"std", "cuda", "cub", "nvcuda", "cooperative_groups",
                                                             "cg"};
  return names.contains(name);
}

class UnitFinder {
 public:
  explicit UnitFinder(const Reading& reading) : reading_(reading), tokens_(reading.tokens) {}

  std::vector<Unit> run() {
    find_names();
    std::size_t end = 0;  // of the unit before
    for (const Declaration& declaration : reading_.declarations) {
      if (declaration.in_type || declaration.first < end) continue;
      add(declaration);
      if (!units_.empty()) end = std::max(end, units_.back().last + 1);
    }
    return std::move(units_);
  }

 private:
  // What the file declares as types and namespaces, and whether it has a launcher.
  void find_names() {
    for (std::size_t i = 0; i + 1 < tokens_.size(); ++i) {
      if (tokens_[i].is("namespace") && is_identifier(tokens_[i + 1]) && (i == 0 || !tokens_[i - 1].is("using"))) {
        for (std::size_t part = i + 1; part < tokens_.size() && is_identifier(tokens_[part]); part += 2) {
          namespaces_.insert(tokens_[part].text);
          if (part + 1 >= tokens_.size() || !tokens_[part + 1].is("::")) break;
        }
      }
    }
    for (const Declaration& declaration : reading_.declarations) {
      if (declaration.in_type) continue;
      if (is_type(declaration)) {
        bool specialised = false;
        const std::string_view name = name_of_type(declaration.first, declaration.last, &specialised);
        if (!specialised && !name.empty()) types_.insert(name);
      }
      if (declaration.kind == Declaration::Kind::function_body && tokens_[declaration.name].is("launch"))
        has_launcher_ = true;
    }
  }

  // Also `struct ALIGN(2) Half {`, where a missing header has the macro: it looks like a function.
  bool is_type(const Declaration& declaration) const {
    if (declaration.kind != Declaration::Kind::function_body) return declaration.kind == Declaration::Kind::type;
    const std::size_t i = skip_template(declaration.first, declaration.last);
    if (!tokens_[i].is("struct") && !tokens_[i].is("class") && !tokens_[i].is("union")) return false;
    if (i + 3 >= declaration.last || !is_like_a_macro(tokens_[i + 1].text) || !tokens_[i + 2].is("(")) return false;
    const std::size_t name = reading_.closing[i + 2] + 1;
    return name < declaration.last && is_identifier(tokens_[name]) &&
           (name + 1 == declaration.last || tokens_[name + 1].is(":") || tokens_[name + 1].is("final"));
  }

  // Behind the first `struct`, `class` or `union` at the declaration's own level.
  std::string_view name_of_type(std::size_t first, std::size_t last, bool* specialised) const {
    std::size_t i = skip_template(first, last);
    while (i < last && !tokens_[i].is("struct") && !tokens_[i].is("class") && !tokens_[i].is("union")) ++i;
    std::string_view name;
    for (++i; i < last; ++i) {
      if (tokens_[i].is("(") || tokens_[i].is("[")) {
        i = std::min(reading_.closing[i], last);
      } else if (is_identifier(tokens_[i])) {
        const bool bracket = i + 1 < last && tokens_[i + 1].is("(");
        if (!tokens_[i].is("final") && !tokens_[i].is("alignas") && !bracket) name = tokens_[i].text;
      } else if (!tokens_[i].is("::")) {
        break;
      }
    }
    *specialised = i < last && tokens_[i].is("<");
    return name;
  }

  // Behind `template <...>`, several of them.
  std::size_t skip_template(std::size_t first, std::size_t last) const {
    while (first + 1 < last && tokens_[first].is("template") && tokens_[first + 1].is("<")) {
      int depth = 0;
      for (++first; first < last; ++first) {
        const Token& token = tokens_[first];
        if (token.is("(") || token.is("{") || token.is("[")) first = std::min(reading_.closing[first], last);
        if (token.is("<")) ++depth;
        if (token.is(">") || token.is(">>") || token.is(">>>")) depth -= static_cast<int>(token.text.size());
        if (depth <= 0) break;
      }
      ++first;
    }
    return first;
  }

  void add(const Declaration& declaration) {
    Unit unit;
    unit.first = declaration.first;
    const bool body = declaration.kind == Declaration::Kind::function_body;
    unit.last = body ? reading_.closing[declaration.last] : declaration.last;
    if (unit.last >= tokens_.size()) return;
    if (body) unit.last = end_of_body(unit.last);
    // `INSTANTIATE(Layer)` without a semicolon, and what follows on the next line.
    const std::size_t macro_end = end_of_macro_call(unit.first, unit.last);
    if (macro_end < unit.last && tokens_[macro_end + 1].line_start) {
      Unit call;
      call.first = unit.first;
      call.last = macro_end;
      call.needed = Unit::Needed::never;
      put(call);
      unit.first = macro_end + 1;
    }
    judge(declaration, unit);
    put(unit);
  }

  // `X::X() : a{1}, b(2) { }`: what looks like the body's end may be an initialiser's.
  std::size_t end_of_body(std::size_t end) const {
    std::size_t i = end;
    while (i + 1 < tokens_.size() && (tokens_[i + 1].is("{") || tokens_[i + 1].is(","))) {
      if (tokens_[i + 1].is(",")) {
        std::size_t open = i + 2;
        while (open < tokens_.size() && !tokens_[open].is("{") && !tokens_[open].is("(") && !tokens_[open].is(";")) {
          ++open;
        }
        if (open >= tokens_.size() || tokens_[open].is(";") || reading_.closing[open] >= tokens_.size()) return i;
        i = reading_.closing[open];
      } else {
        if (reading_.closing[i + 1] >= tokens_.size()) return i;
        i = reading_.closing[i + 1];
      }
    }
    return i;
  }

  // The closing bracket of `NAME(...)` at the beginning; `last` where there is none.
  std::size_t end_of_macro_call(std::size_t first, std::size_t last) const {
    if (first + 2 > last || !is_identifier(tokens_[first]) || !is_like_a_macro(tokens_[first].text)) return last;
    if (!tokens_[first + 1].is("(") || reading_.closing[first + 1] > last) return last;
    return reading_.closing[first + 1];
  }

  void put(Unit& unit) {
    unit.range = {UINT32_MAX, 0};
    for (std::size_t i = unit.first; i <= unit.last; ++i) {
      unit.range.begin = std::min(unit.range.begin, tokens_[i].offset);
      unit.range.end = std::max(unit.range.end, tokens_[i].end_offset());
    }
    units_.push_back(std::move(unit));
  }

  void judge(const Declaration& declaration, Unit& unit) const {
    const std::size_t first = unit.first, last = unit.last;
    if (tokens_[first].is("template") && !tokens_[first + 1].is("<")) {
      unit.needed = Unit::Needed::never;
      return;
    }
    const std::size_t macro_end = end_of_macro_call(first, last);
    if (macro_end < last && (tokens_[macro_end + 1].is(";"))) {
      unit.needed = Unit::Needed::never;
      return;
    }
    if (runs_by_itself(first, declaration.last)) return;
    if (is_for_a_foreign_type(first, declaration.last)) {
      unit.needed = Unit::Needed::never;
      return;
    }
    if (is_type(declaration)) return judge_type(unit);
    switch (declaration.kind) {
      case Declaration::Kind::function:
      case Declaration::Kind::function_body:
        return judge_function(declaration, unit);
      case Declaration::Kind::variable:
        return judge_variable(unit, first);
      case Declaration::Kind::type:
        return judge_type(unit);
      case Declaration::Kind::other:
        return judge_other(unit);
    }
  }

  // A function that is called when the file is loaded, a section or a symbol of somebody else's, assembly.
  bool runs_by_itself(std::size_t first, std::size_t last) const {
    static const std::unordered_set<std::string_view> attributes = {"constructor", "destructor",    "ifunc",  "alias",
                                                                    "section",     "init_priority", "weakref"};
    if (tokens_[first].is("asm") || tokens_[first].is("__asm__") || tokens_[first].is("__asm")) return true;
    bool attribute = false;
    for (std::size_t i = first; i < last; ++i) {
      attribute = attribute || tokens_[i].is("__attribute__") || (tokens_[i].is("[") && tokens_[i + 1].is("["));
      std::string_view word = tokens_[i].text;
      if (word.starts_with("__") && word.ends_with("__") && word.size() > 4) word = word.substr(2, word.size() - 4);
      if (attribute && attributes.contains(word)) return true;
    }
    return false;
  }

  // `template <> struct Limits<other::Float8> {`: nothing here can have a type of a namespace that nobody declares.
  bool is_for_a_foreign_type(std::size_t first, std::size_t last) const {
    if (first + 3 >= last || !tokens_[first].is("template") || !tokens_[first + 1].is("<") ||
        !tokens_[first + 2].is(">")) {
      return false;
    }
    for (std::size_t i = first + 3; i + 1 < last && !tokens_[i].is("{"); ++i) {
      const bool qualifies = is_identifier(tokens_[i]) && tokens_[i + 1].is("::") && !tokens_[i - 1].is("::");
      const std::string_view name = tokens_[i].text;
      const bool known = namespaces_.contains(name) || types_.contains(name) || is_known_namespace(name) ||
                         name == "c10" || name == "at";  // the device's header for PyTorch has these
      if (qualifies && !known && tokens_[i - 1].kind != TokenKind::identifier) return true;
    }
    return false;
  }

  void when_named(Unit& unit, std::vector<std::string_view> any) const {
    std::erase_if(any, [](std::string_view name) { return is_keyword(name); });
    if (any.empty()) return;
    unit.needed = Unit::Needed::when_named;
    unit.any = std::move(any);
  }

  // What C++ finds without a name is needed when the file's types in it are; prints of them never are.
  void when_its_types_are(Unit& unit, std::size_t first, std::size_t last) const {
    std::vector<std::string_view> any;
    bool prints = false, device = false;
    for (std::size_t i = first; i < last; ++i) {
      if (types_.contains(tokens_[i].text)) any.push_back(tokens_[i].text);
      prints = prints || tokens_[i].is("ostream") || tokens_[i].is("istream");
      device = device || tokens_[i].is("__device__") || tokens_[i].is("__global__");
    }
    if (prints && !device) {
      unit.needed = Unit::Needed::never;
      return;
    }
    when_named(unit, std::move(any));
  }

  void judge_function(const Declaration& declaration, Unit& unit) const {
    const std::size_t head_end = declaration.last;
    std::vector<std::string_view> names;
    for (std::size_t i = unit.first; i < head_end; ++i) {
      if (tokens_[i].is("operator")) return when_its_types_are(unit, unit.first, head_end);
      if (!tokens_[i].is("(")) continue;
      std::size_t name = i;
      if (name > unit.first && tokens_[name - 1].is(">")) {  // f<float>(
        int depth = 0;
        const std::size_t nearest = name > longest_arguments ? name - longest_arguments : 0;
        while (name-- > std::max(unit.first, nearest)) {
          if (tokens_[name].is(">") || tokens_[name].is(">>")) depth += static_cast<int>(tokens_[name].text.size());
          if (tokens_[name].is("<") && --depth == 0) break;
        }
      }
      if (name > unit.first && name < tokens_.size() && is_identifier(tokens_[name - 1])) {
        if (is_root(tokens_[name - 1].text)) return;
        const bool annotation = tokens_[name - 1].is("__launch_bounds__") || tokens_[name - 1].is("__attribute__");
        if (!annotation) names.push_back(tokens_[name - 1].text);
      }
      i = std::min(reading_.closing[i], head_end);
      if (i < head_end && tokens_[i + 1].is(":") && !tokens_[declaration.first].is("__global__"))
        break;  // initialisers
    }
    const std::size_t name = declaration.name;
    if (name > unit.first + 1 && tokens_[name - 1].is("::")) return judge_member(unit, name);
    const bool unnamed = std::ranges::any_of(names, is_called_unnamed);
    if (unnamed) return when_its_types_are(unit, unit.first, head_end);
    when_named(unit, std::move(names));
  }

  bool is_root(std::string_view name) const {
    if (name == "launch") return true;
    const bool exports = name == "PYBIND11_MODULE" || name == "TORCH_LIBRARY" || name == "TORCH_LIBRARY_IMPL";
    return !has_launcher_ && (exports || name == "forward");
  }

  // `int X<T>::f() {`: needed with X when it is called without a name, otherwise when both are mentioned.
  void judge_member(Unit& unit, std::size_t name) const {
    std::size_t type = name - 2;
    if (tokens_[type].is(">")) {
      int depth = 0;
      const std::size_t nearest = type > longest_arguments ? type - longest_arguments : 0;
      for (; type > std::max(unit.first, nearest); --type) {
        if (tokens_[type].is(">")) ++depth;
        if (tokens_[type].is("<") && --depth == 0) break;
      }
      if (type > unit.first) --type;
    }
    if (tokens_[name - 1].is("~")) return;
    if (!is_identifier(tokens_[type])) return;
    const bool of_type = types_.contains(tokens_[type].text) || !namespaces_.contains(tokens_[type].text);
    when_named(unit, {tokens_[of_type ? type : name].text});
    if (of_type && tokens_[name].text != tokens_[type].text && !is_called_unnamed(tokens_[name].text)) {
      unit.all = {tokens_[name].text};
    }
  }

  void judge_variable(Unit& unit, std::size_t first) const {
    std::vector<std::string_view> names;
    bool initialiser = false;
    for (std::size_t i = skip_template(first, unit.last); i < unit.last; ++i) {
      if (tokens_[i].is("(") || tokens_[i].is("[") || tokens_[i].is("{")) {
        i = std::min(reading_.closing[i], unit.last);
      } else if (tokens_[i].is("=")) {
        initialiser = true;
      } else if (is_identifier(tokens_[i]) && ends_declarator(tokens_[i + 1]) && i > first) {
        const std::size_t before = tokens_[i - 1].is("*") ? i - 2 : i - 1;  // `int a = 1, *b;`
        if (!initialiser || tokens_[before].is(",")) names.push_back(tokens_[i].text);
      }
    }
    when_named(unit, std::move(names));
  }

  void judge_type(Unit& unit) const {
    bool specialised = false;
    const std::string_view name = name_of_type(unit.first, unit.last, &specialised);
    if (specialised && !types_.contains(name)) return when_its_types_are(unit, unit.first, unit.last);
    std::vector<std::string_view> names;
    if (!name.empty()) names.push_back(name);
    std::size_t open = unit.first;
    while (open < unit.last && !tokens_[open].is("{")) ++open;
    for (std::size_t i = std::min(reading_.closing[open], unit.last); i < unit.last; ++i) {
      if (is_identifier(tokens_[i])) names.push_back(tokens_[i].text);
    }
    when_named(unit, std::move(names));
  }

  void judge_other(Unit& unit) const {
    const std::size_t first = skip_template(unit.first, unit.last);
    if (tokens_[first].is("static_assert")) {
      unit.needed = Unit::Needed::if_whole;
    } else if (tokens_[first].is("using") && tokens_[first + 1].is("namespace")) {
      const bool known = namespaces_.contains(tokens_[first + 2].text) || is_known_namespace(tokens_[first + 2].text);
      if (!known) unit.needed = Unit::Needed::never;
    } else if (tokens_[first].is("using")) {
      const bool alias = is_identifier(tokens_[first + 1]) && tokens_[first + 2].is("=");
      const std::size_t name = alias ? first + 1 : unit.last - 1;
      if (is_identifier(tokens_[name])) when_named(unit, {tokens_[name].text});
    } else if (tokens_[first].is("namespace") && tokens_[unit.last].is(";")) {
      when_named(unit, {tokens_[first + 1].text});
    } else if (tokens_[first].is("typedef")) {
      judge_typedef(unit, first);
    }
  }

  void judge_typedef(Unit& unit, std::size_t first) const {
    std::vector<std::string_view> names;
    for (std::size_t i = first; i < unit.last; ++i) {
      if (tokens_[i].is("{")) {
        if (i > first && is_identifier(tokens_[i - 1])) names.push_back(tokens_[i - 1].text);
        for (std::size_t inner = i; inner < std::min(reading_.closing[i], unit.last); ++inner) {
          // The enumerators of `typedef enum { A, B } E;`.
          if (tokens_[first + 1].is("enum") && is_identifier(tokens_[inner])) names.push_back(tokens_[inner].text);
        }
        i = std::min(reading_.closing[i], unit.last);
      } else if (is_identifier(tokens_[i]) && (ends_declarator(tokens_[i + 1]) || tokens_[i + 1].is(")"))) {
        names.push_back(tokens_[i].text);
      }
    }
    when_named(unit, std::move(names));
  }

  const Reading& reading_;
  const std::vector<Token>& tokens_;
  std::unordered_set<std::string_view> types_;
  std::unordered_set<std::string_view> namespaces_;
  bool has_launcher_ = false;
  std::vector<Unit> units_;
};

}  // namespace

bool is_called_unnamed(std::string_view name) {
  static const std::unordered_set<std::string_view> names = {"begin", "end", "get", "swap", "size", "data"};
  return names.contains(name);
}

std::vector<Unit> find_units(const Reading& reading) { return UnitFinder(reading).run(); }

}  // namespace kw
