#include "agents/agent/kernel_constants.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <span>

#include <fmt/format.h>

#include "kernel/source/lexer.h"

namespace kw {
namespace {

constexpr std::int64_t warp = 32;
constexpr std::int64_t most_threads = 1024;
constexpr double furthest_factor = 8;
// How far is looked from a word that begins something: whatever the text is, time stays linear.
constexpr std::size_t most_words_of_a_type = 8;
constexpr std::size_t most_tokens_of_a_launch = 256;

struct Literal {
  std::int64_t value = 0;
  ConstantPlace place;
};

// A decimal whole number, with or without `u`, `l` and the like.
std::optional<Literal> literal_of(const Token& token) {
  if (token.kind != TokenKind::number || token.text.size() != token.bytes)
    return std::nullopt;  // continued: left alone
  Literal literal;
  const char* end = token.text.data() + token.text.size();
  const auto [rest, error] = std::from_chars(token.text.data(), end, literal.value);
  if (error != std::errc() || (token.text.front() == '0' && token.text.size() > 1)) return std::nullopt;
  literal.place = {token.offset, token.bytes, 0, std::string(rest, end)};
  const bool whole = std::ranges::all_of(
      literal.place.suffix, [](char c) { return std::string_view("uUlL").find(c) != std::string_view::npos; });
  return whole ? std::optional(literal) : std::nullopt;
}

std::string plain_name(std::string_view name) {
  std::string plain;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return plain;
}

// A warp has 32 threads whatever a kernel says.
bool of_the_hardware(std::string_view name, std::int64_t value) {
  constexpr std::array names{"warp", "kwarp", "warpsize", "kwarpsize", "warpwidth", "lanes", "klanes", "warpthreads"};
  return value == warp && std::ranges::find(names, plain_name(name)) != names.end();
}

bool counts_threads(std::string_view name, std::int64_t value) {
  const std::string plain = plain_name(name);
  constexpr std::array words{"thread", "block", "bdim", "tpb"};
  const bool said = std::ranges::any_of(words, [&](const char* word) { return plain.find(word) != std::string::npos; });
  return said && value >= warp && value % warp == 0;
}

class ConstantWalk {
 public:
  explicit ConstantWalk(std::string_view kernel) : stream_(lex(kernel, "")) {}

  std::vector<KernelConstant> found() {
    const std::vector<Token>& tokens = stream_.tokens;
    collect_literals();
    find_launcher();
    for (at_ = 0; at_ < tokens.size(); ++at_) {
      const Token& token = tokens[at_];
      if (token.kind == TokenKind::directive)
        look_at_directive(stream_.inside(token));
      else if (token.is("const") || token.is("constexpr"))
        look_at_declaration();
      else if (token.is("enum"))
        look_at_enumeration();
      else if (token.is("template"))
        look_at_template();
      else if (token.is("<<<"))
        look_at_launch();
      else if (token.is("dim3"))
        look_at_dim3();
      else if (token.is("/"))
        look_at_division();
      else if (token.is("__launch_bounds__") && is(at_ + 1, "(") && is(at_ + 3, ")"))
        add_plain("launch bounds", at_ + 2, true);
    }
    add_plain_constants();
    std::ranges::stable_sort(found_, {}, [](const KernelConstant& each) { return each.places.front().offset; });
    if (found_.size() > most_kernel_constants) found_.resize(most_kernel_constants);
    return std::move(found_);
  }

 private:
  bool is(std::size_t at, std::string_view text) const {
    return at < stream_.tokens.size() && stream_.tokens[at].is(text);
  }
  std::optional<Literal> literal_at(std::size_t at) const {
    return at < stream_.tokens.size() ? literal_of(stream_.tokens[at]) : std::nullopt;
  }

  // Whatever may belong to a constant without a name: V, V - 1 behind a plus, V + 1 as an extent.
  void collect_literals() {
    const std::vector<Token>& tokens = stream_.tokens;
    const auto take = [&](std::span<const Token> list) {
      for (std::size_t i = 0; i < list.size(); ++i) {
        auto literal = literal_of(list[i]);
        if (!literal) continue;
        literals_.push_back(*literal);
        if (i > 0 && list[i - 1].is("+")) less_.push_back(*literal);
        if (i > 0 && i + 1 < list.size() && list[i - 1].is("[") && list[i + 1].is("]")) more_.push_back(*literal);
      }
    };
    take(tokens);
    for (const Token& token : tokens)
      if (token.kind == TokenKind::directive) take(stream_.inside(token));
  }

  // The body of `void launch(...)`.
  void find_launcher() {
    const std::vector<Token>& tokens = stream_.tokens;
    for (std::size_t i = 1; i < tokens.size(); ++i) {
      if (!tokens[i].is("launch") || !tokens[i - 1].is("void")) continue;
      int depth = 0;
      for (std::size_t j = i; j < tokens.size(); ++j) {
        if (tokens[j].is(";") && depth == 0) break;  // only declared here
        if (tokens[j].is("{") && ++depth == 1) launcher_begin_ = tokens[j].offset;
        if (tokens[j].is("}") && --depth == 0) {
          launcher_end_ = tokens[j].offset;
          return;
        }
        if (j + 1 == tokens.size()) return;
      }
    }
  }

  void add_named(std::string_view name, const Literal& literal) {
    if (literal.value < 1 || literal.value > most_constant_value || of_the_hardware(name, literal.value)) return;
    if (found_.size() >= most_kernel_constants) return;
    if (!places_.insert(literal.place.offset).second) return;
    found_.push_back({std::string(name), literal.value, counts_threads(name, literal.value), {literal.place}});
    named_places_.insert(literal.place.offset);
  }

  void look_at_directive(std::span<const Token> inside) {
    if (inside.size() >= 3 && inside[0].is("define")) {
      const bool bracketed = inside.size() == 5 && inside[2].is("(") && inside[4].is(")");
      const auto literal = literal_of(inside[bracketed ? 3 : 2]);
      if (literal && (bracketed || inside.size() == 3)) add_named(inside[1].text, *literal);
    } else if (inside.size() == 3 && inside[0].is("pragma") && inside[1].is("unroll")) {
      if (const auto literal = literal_of(inside[2])) add_alone("unroll", *literal);
    } else if (inside.size() == 5 && inside[0].is("pragma") && inside[1].is("unroll")) {
      if (const auto literal = literal_of(inside[3])) add_alone("unroll", *literal);
    }
  }

  // `constexpr int tile = 64, depth = 8;`, from the first `const` on.
  void look_at_declaration() {
    const std::vector<Token>& tokens = stream_.tokens;
    std::size_t at = at_ + 1;
    const std::size_t last = std::min(tokens.size(), at + most_words_of_a_type + 1);
    while (at + 1 < last && tokens[at].kind == TokenKind::identifier && !tokens[at + 1].is("=")) ++at;
    while (at + 2 < tokens.size() && tokens[at].kind == TokenKind::identifier && tokens[at + 1].is("=")) {
      const auto literal = literal_at(at + 2);
      const bool alone = literal && (is(at + 3, ";") || is(at + 3, ","));
      if (alone) add_named(tokens[at].text, *literal);
      if (!alone || !is(at + 3, ",")) break;
      at += 4;
    }
  }

  void look_at_enumeration() {
    const std::vector<Token>& tokens = stream_.tokens;
    for (; at_ < tokens.size() && !tokens[at_].is("}") && !tokens[at_].is(";"); ++at_)
      if (tokens[at_].kind == TokenKind::identifier && is(at_ + 1, "="))
        if (const auto literal = literal_at(at_ + 2); literal && (is(at_ + 3, ",") || is(at_ + 3, "}")))
          add_named(tokens[at_].text, *literal);
  }

  // template <int width = 4>
  void look_at_template() {
    const std::vector<Token>& tokens = stream_.tokens;
    for (; at_ < tokens.size() && !tokens[at_].is(">") && !tokens[at_].is("{") && !tokens[at_].is(";"); ++at_)
      if (tokens[at_].kind == TokenKind::identifier && is(at_ + 1, "="))
        if (const auto literal = literal_at(at_ + 2); literal && (is(at_ + 3, ",") || is(at_ + 3, ">")))
          add_named(tokens[at_].text, *literal);
  }

  void look_at_launch() {
    if (at_ > 0 && is(at_ - 1, ">")) {  // tile_kernel<64, 8><<<
      std::size_t open = at_ - 1;
      const std::size_t first = at_ - std::min(at_, most_tokens_of_a_launch);
      while (open > first && !is(open, "<") && !is(open, ";")) --open;
      if (is(open, "<"))
        for (std::size_t i = open + 1; i + 1 < at_; ++i)
          if ((is(i - 1, "<") || is(i - 1, ",")) && (is(i + 1, ",") || is(i + 1, ">")))
            add_plain("template argument", i, false);
    }
    int depth = 0, argument = 0;
    const std::size_t end = std::min(stream_.tokens.size(), at_ + most_tokens_of_a_launch);
    for (std::size_t i = at_ + 1; i < end && !is(i, ">>>") && !is(i, ";"); ++i) {
      if (is(i, "(") || is(i, "{")) ++depth;
      if (is(i, ")") || is(i, "}")) --depth;
      if (is(i, ",") && depth == 0) ++argument;
      if (argument == 1 && depth == 0 && is(i - 1, ",") && (is(i + 1, ",") || is(i + 1, ">>>")))
        add_plain("block", i, true);
    }
  }

  // dim3 block(16, 16), dim3(16, 16), dim3 block{...}: numbers that stand alone.
  void look_at_dim3() {
    std::size_t open = at_ + 1;
    if (open < stream_.tokens.size() && stream_.tokens[open].kind == TokenKind::identifier) ++open;
    if (!is(open, "(") && !is(open, "{")) return;
    int depth = 0;
    const std::size_t end = std::min(stream_.tokens.size(), at_ + most_tokens_of_a_launch);
    for (std::size_t i = open; i < end && !is(i, ";"); ++i) {
      if (is(i, "(") || is(i, "{")) ++depth;
      if ((is(i, ")") || is(i, "}")) && --depth == 0) return;
      const bool first = i == open + 1 || (depth == 1 && is(i - 1, ","));
      if (depth == 1 && first && (is(i + 1, ",") || is(i + 1, ")") || is(i + 1, "}"))) add_plain("block", i, false);
    }
  }

  // (channels + 3) / 4: so many are worked on together.
  void look_at_division() {
    if (at_ < 3 || !is(at_ - 1, ")") || !is(at_ - 3, "+")) return;
    const auto by = literal_at(at_ + 1), less = literal_at(at_ - 2);
    if (by && less && less->value == by->value - 1) add_plain("rounded up", at_ + 1, false);
  }

  void add_alone(const std::string& role, const Literal& literal) {
    if (literal.value < 1 || literal.value > most_constant_value || found_.size() >= most_kernel_constants) return;
    if (!places_.insert(literal.place.offset).second) return;
    found_.push_back({fmt::format("{} {}", role, literal.value), literal.value, false, {literal.place}});
  }

  // A number without a name, whose twins elsewhere may be the same thing.
  void add_plain(const std::string& role, std::size_t at, bool threads) {
    const auto literal = literal_at(at);
    if (!literal || literal->value < 2 || literal->value > most_constant_value) return;
    const bool known =
        std::ranges::any_of(plain_, [&](const KernelConstant& each) { return each.value == literal->value; });
    if (known || plain_.size() >= most_kernel_constants) return;
    plain_.push_back({fmt::format("{} {}", role, literal->value),
                      literal->value,
                      threads && literal->value >= warp && literal->value % warp == 0,
                      {}});
  }

  std::vector<ConstantPlace> twins(std::int64_t value, bool launcher_only) const {
    std::vector<ConstantPlace> places;
    const auto add = [&](const std::vector<Literal>& list, std::int64_t more) {
      for (const Literal& literal : list) {
        const std::size_t offset = literal.place.offset;
        if (literal.value != value + more || named_places_.contains(offset)) continue;
        if (launcher_only && (offset < launcher_begin_ || offset >= launcher_end_)) continue;
        places.push_back(literal.place);
        places.back().more = more;
      }
    };
    add(literals_, 0);
    add(less_, -1);
    add(more_, 1);
    std::ranges::sort(places, {}, &ConstantPlace::offset);
    const auto same = [](const ConstantPlace& a, const ConstantPlace& b) { return a.offset == b.offset; };
    places.erase(std::unique(places.begin(), places.end(), same), places.end());
    return places;
  }

  // Plain numbers: all equal ones of the file together, and those of the launcher alone. A named constant whose value
  // also stands somewhere without its name: both together.
  void add_plain_constants() {
    for (KernelConstant constant : plain_) {
      constant.places = twins(constant.value, false);
      if (constant.places.empty()) continue;
      const std::vector<ConstantPlace> near = twins(constant.value, true);
      const bool both = !near.empty() && near.size() < constant.places.size();
      found_.push_back(constant);
      if (!both) continue;
      constant.name += " of the launcher";
      constant.places = near;
      found_.push_back(std::move(constant));
    }
    const std::size_t count = found_.size();
    for (std::size_t i = 0; i < count; ++i) {
      if (found_[i].value < 8 || !named_places_.contains(found_[i].places.front().offset)) continue;
      std::vector<ConstantPlace> all = twins(found_[i].value, false);
      if (all.empty()) continue;
      all.push_back(found_[i].places.front());
      std::ranges::sort(all, {}, &ConstantPlace::offset);
      const std::string name = fmt::format("{} and every {}", found_[i].name, found_[i].value);
      found_.push_back({name, found_[i].value, found_[i].threads, std::move(all)});
    }
  }

  const TokenStream stream_;
  std::size_t at_ = 0;
  std::size_t launcher_begin_ = 0, launcher_end_ = 0;
  std::vector<Literal> literals_, less_, more_;
  std::set<std::size_t> places_;        // that a constant has
  std::set<std::size_t> named_places_;  // where named ones are defined
  std::vector<KernelConstant> plain_;   // places are looked for at the end
  std::vector<KernelConstant> found_;
};

}  // namespace

std::vector<KernelConstant> kernel_constants(std::string_view kernel) {
  if (kernel.size() > max_tuned_kernel_bytes) return {};
  return ConstantWalk(kernel).found();
}

std::vector<std::int64_t> other_values(const KernelConstant& constant) {
  std::set<std::int64_t> values;
  if (constant.threads) {
    for (const std::int64_t count : {32, 64, 96, 128, 160, 192, 256, 320, 384, 512, 640, 768, 1024})
      values.insert(count);
  } else {
    for (std::int64_t power = 1; power <= most_threads; power *= 2) values.insert(power);
    values.insert(2 * constant.value);
    if (constant.value % 2 == 0) values.insert(constant.value / 2);
  }
  std::vector<std::int64_t> others;
  const auto distance = [&](std::int64_t value) {
    return std::abs(std::log2(static_cast<double>(value) / static_cast<double>(constant.value)));
  };
  for (const std::int64_t value : values)
    if (value != constant.value && value <= most_constant_value && distance(value) <= std::log2(furthest_factor))
      others.push_back(value);
  std::ranges::stable_sort(others, {}, distance);
  return others;
}

std::string with_values(std::string_view kernel, const std::vector<ConstantChange>& changes) {
  struct Edit {
    const ConstantPlace* place;
    std::int64_t value;
  };
  std::vector<Edit> edits;
  for (const auto& [constant, value] : changes)
    for (const ConstantPlace& place : constant->places) edits.push_back({&place, value + place.more});
  std::ranges::stable_sort(edits, {}, [](const Edit& edit) { return edit.place->offset; });
  std::string text;
  text.reserve(kernel.size() + 8 * edits.size());
  std::size_t copied = 0;
  for (const Edit& edit : edits) {
    const std::size_t end = edit.place->offset + edit.place->bytes;
    if (edit.place->offset < copied || end > kernel.size()) continue;
    text.append(kernel.substr(copied, edit.place->offset - copied));
    text += fmt::format("{}{}", edit.value, edit.place->suffix);
    copied = end;
  }
  text.append(kernel.substr(copied));
  return text;
}

std::string to_string(const std::vector<ConstantChange>& changes) {
  std::string text;
  for (const auto& [constant, value] : changes) {
    const bool says_value = constant->name.find(' ') != std::string::npos;
    text += fmt::format("{}{}{} -> {}", text.empty() ? "" : ", ", constant->name,
                        says_value ? "" : fmt::format(" {}", constant->value), value);
  }
  return text;
}

}  // namespace kw
