// Declarations that a launch does not need: those whose name nothing mentions that is needed itself.

#include <algorithm>
#include <map>
#include <unordered_map>

#include "kernel/source/needed_source.h"
#include "kernel/source/needed_units.h"
#include "kernel/source/rules_plain_class.h"

namespace kw {
namespace {

constexpr std::size_t max_agreement_rounds = 4;
constexpr int max_empty_depth = 8;  // of namespaces in each other

class NeededDeclarations {
 public:
  NeededDeclarations(const RuleInput& input, const Reading& reading)
      : input_(input), tokens_(reading.tokens), units_(find_units(reading)) {}

  // What can be left out, in order; nothing where the file has no root. Groups outside of `most`, if given, stay.
  std::vector<TextRange> run(const std::vector<TextRange>* most) {
    const bool has_root = std::ranges::any_of(units_, [&](const Unit& unit) {
      return unit.needed == Unit::Needed::always && mentions(unit, {"launch", "forward", "PYBIND11_MODULE"});
    });
    if (!has_root) return {};
    needed_.assign(units_.size(), false);
    make_groups();
    if (most != nullptr) keep_what_is_outside(*most);
    for (std::size_t i = 0; i < units_.size(); ++i) {
      for (const std::string_view name : units_[i].any) waiting_[name].push_back(i);
      for (const std::string_view name : units_[i].all) waiting_[name].push_back(i);
      if (units_[i].needed == Unit::Needed::always) need(i);
    }
    mention_what_stands_outside();
    for (std::size_t next = 0; next < reached_.size(); ++next) {
      const Unit& unit = units_[reached_[next]];
      for (std::size_t i = unit.first; i <= unit.last; ++i) mention(i);
    }
    keep_whole_assertions();
    return ranges();
  }

 private:
  bool mentions(const Unit& unit, std::initializer_list<std::string_view> names) const {
    for (std::size_t i = unit.first; i <= unit.last; ++i) {
      if (std::ranges::find(names, tokens_[i].text) != names.end()) return true;
    }
    return false;
  }

  // Parts that one macro makes stand and fall together; what is torn by an #if stays.
  void make_groups() {
    std::vector<std::size_t> order(units_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::sort(order, {}, [&](std::size_t i) { return units_[i].range; });
    group_.assign(units_.size(), 0);
    for (const std::size_t i : order) {
      const TextRange& range = units_[i].range;
      if (groups_.empty() || groups_.back().range.end <= range.begin) groups_.push_back({range, {}});
      groups_.back().range.end = std::max(groups_.back().range.end, range.end);
      groups_.back().units.push_back(i);
      group_[i] = groups_.size() - 1;
    }
    std::vector<bool> inside(tokens_.size(), false);
    for (const Unit& unit : units_)
      std::fill_n(inside.begin() + static_cast<std::ptrdiff_t>(unit.first), unit.last - unit.first + 1, true);
    std::map<std::uint32_t, std::size_t> by_begin;
    for (std::size_t i = 0; i < groups_.size(); ++i) by_begin[groups_[i].range.begin] = i;
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (inside[i] || tokens_[i].is(";")) continue;
      auto found = by_begin.lower_bound(tokens_[i].end_offset());
      if (found == by_begin.begin()) continue;
      const std::size_t group = std::prev(found)->second;
      if (groups_[group].range.end > tokens_[i].offset) need(groups_[group].units.front());
    }
    for (const Group& group : groups_) {
      if (!has_balanced_branches(input_.stream, group.range.begin, group.range.end)) need(group.units.front());
    }
  }

  void keep_what_is_outside(const std::vector<TextRange>& most) {
    for (const Group& group : groups_) {
      const auto next = std::ranges::upper_bound(most, group.range.begin, {}, &TextRange::begin);
      // Most of it: where a macro's name begins a declaration, readings differ about the name.
      const bool left_out = next != most.begin() && std::prev(next)->end > group.range.begin;
      const bool begins_in_it = next != most.end() && next->begin < group.range.end;
      if (!left_out && !begins_in_it) need(group.units.front());
    }
  }

  void mention_what_stands_outside() {
    std::vector<bool> inside(tokens_.size(), false);
    for (const Unit& unit : units_)
      std::fill_n(inside.begin() + static_cast<std::ptrdiff_t>(unit.first), unit.last - unit.first + 1, true);
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (!inside[i]) mention(i);
    }
  }

  void need(std::size_t unit) {
    for (const std::size_t other : groups_[group_[unit]].units) {
      if (needed_[other]) continue;
      needed_[other] = true;
      reached_.push_back(other);
    }
  }

  void mention(std::size_t token) {
    if (tokens_[token].kind != TokenKind::identifier || !mentioned_.insert(tokens_[token].text).second) return;
    const auto found = waiting_.find(tokens_[token].text);
    if (found == waiting_.end()) return;
    for (const std::size_t i : found->second) {
      const Unit& unit = units_[i];
      const auto is_mentioned = [&](std::string_view name) { return mentioned_.contains(name); };
      const bool named = std::ranges::any_of(unit.any, is_mentioned) && std::ranges::all_of(unit.all, is_mentioned);
      if (named && unit.needed == Unit::Needed::when_named) need(i);
    }
  }

  void keep_whole_assertions() {
    std::unordered_set<std::string_view> gone;
    for (std::size_t i = 0; i < units_.size(); ++i) {
      if (!needed_[i]) gone.insert(units_[i].any.begin(), units_[i].any.end());
    }
    for (std::size_t i = 0; i < units_.size(); ++i) {
      const Unit& unit = units_[i];
      if (unit.needed != Unit::Needed::if_whole) continue;
      bool whole = true;
      for (std::size_t t = unit.first; t <= unit.last; ++t) {
        whole = whole && (!gone.contains(tokens_[t].text) || mentioned_.contains(tokens_[t].text));
      }
      if (whole) need(i);
    }
  }

  std::vector<TextRange> ranges() const {
    std::vector<TextRange> result;
    for (const Group& group : groups_) {
      if (!needed_[group.units.front()]) result.push_back(group.range);
    }
    return result;
  }

  struct Group {
    TextRange range;
    std::vector<std::size_t> units;
  };

  const RuleInput& input_;
  const std::vector<Token>& tokens_;
  std::vector<Unit> units_;
  std::vector<bool> needed_;
  std::vector<Group> groups_;
  std::vector<std::size_t> group_;  // of each unit
  std::vector<std::size_t> reached_;
  std::unordered_map<std::string_view, std::vector<std::size_t>> waiting_;
  std::unordered_set<std::string_view> mentioned_;
};

// What lies in one of each, which are in order and do not overlap.
std::vector<TextRange> common(const std::vector<TextRange>& a, const std::vector<TextRange>& b) {
  std::vector<TextRange> result;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const TextRange both{std::max(a[i].begin, b[j].begin), std::min(a[i].end, b[j].end)};
    if (both.begin < both.end) result.push_back(both);
    a[i].end < b[j].end ? ++i : ++j;
  }
  return result;
}

// Behind what stands in a namespace from which all is gone but `using namespace other;` and semicolons.
std::size_t end_of_nothing(const std::vector<Token>& tokens, std::size_t i) {
  while (i < tokens.size()) {
    if (tokens[i].is(";") || tokens[i].kind == TokenKind::directive) {
      ++i;
    } else if (i + 2 < tokens.size() && tokens[i].is("using") && tokens[i + 1].is("namespace")) {
      while (i < tokens.size() && !tokens[i].is(";") && !tokens[i].is("}")) ++i;
    } else {
      break;
    }
  }
  return i;
}

std::vector<TextRange> empty_namespaces(const TokenStream& stream) {
  std::vector<TextRange> result;
  const std::vector<Token>& tokens = stream.tokens;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (!tokens[i].is("namespace")) continue;
    std::size_t open = i + 1;
    while (open < tokens.size() && (tokens[open].kind == TokenKind::identifier || tokens[open].is("::"))) ++open;
    if (open + 1 >= tokens.size() || !tokens[open].is("{")) continue;
    const std::size_t end = end_of_nothing(tokens, open + 1);
    if (end >= tokens.size() || !tokens[end].is("}")) {
      i = open;
      continue;
    }
    const std::size_t first = i > 0 && tokens[i - 1].is("inline") ? i - 1 : i;
    if (has_balanced_branches(stream, tokens[first].offset, tokens[end].offset))
      result.push_back({tokens[first].offset, tokens[end].end_offset()});
    i = end;
  }
  return result;
}

}  // namespace

bool leave_out_declarations(std::string& text) {
  const std::string before = text;
  const RuleInput input = read_for_rules(before, "");
  // Where macros have several definitions, what no reading needs; what another one keeps, each has to do without, too.
  std::vector<TextRange> left_out;
  const std::size_t rounds = input.readings.size() > 1 ? max_agreement_rounds : 1;
  for (std::size_t round = 0; round < rounds; ++round) {
    std::vector<TextRange> next;
    for (std::size_t i = 0; i < input.readings.size(); ++i) {
      std::vector<TextRange> ranges =
          NeededDeclarations(input, input.readings[i]).run(round == 0 ? nullptr : &left_out);
      next = i == 0 ? std::move(ranges) : common(next, ranges);
    }
    const bool agreed = next == left_out;
    left_out = std::move(next);
    if (agreed) break;
  }
  blank(text, left_out, true);
  for (int depth = 0; depth < max_empty_depth; ++depth) {
    const std::string outer = text;
    const std::vector<TextRange> empty = empty_namespaces(lex(outer, ""));
    if (empty.empty()) break;
    blank(text, empty, true);
  }
  return text != before;
}

}  // namespace kw
