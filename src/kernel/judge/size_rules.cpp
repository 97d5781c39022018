#include "kernel/judge/size_rules.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <set>

namespace kw {
namespace {

// Two numbers always have a common rest (modulo their difference). That three have one is no accident any more.
constexpr std::size_t values_that_show_a_rest = 3;

bool power_of_two(std::int64_t value) { return value > 0 && std::has_single_bit(static_cast<std::uint64_t>(value)); }

}  // namespace

ValueRule ValueRule::of_extents(const std::vector<std::int64_t>& values) {
  KW_CHECK(!values.empty());
  ValueRule rule;
  rule.low = *std::min_element(values.begin(), values.end());
  rule.high = *std::max_element(values.begin(), values.end());
  rule.step = 0;
  for (const std::int64_t value : values) rule.step = std::gcd(rule.step, value);
  rule.step = std::max<std::int64_t>(rule.step, 1);
  rule.powers_of_two = std::all_of(values.begin(), values.end(), power_of_two);
  return rule;
}

ValueRule ValueRule::of_names(const std::vector<std::int64_t>& values) {
  ValueRule rule = of_extents(values);
  const std::set<std::int64_t> distinct(values.begin(), values.end());
  if (rule.powers_of_two || distinct.size() < values_that_show_a_rest) return rule;
  std::int64_t step = 0;
  for (const std::int64_t value : distinct) step = std::gcd(step, value - rule.low);
  if (step <= rule.step) return rule;
  rule.step = step;
  rule.offset = rule.low % step;
  return rule;
}

bool ValueRule::allows(std::int64_t value) const {
  if (value < low || value > high || value % step != offset) return false;
  return !powers_of_two || power_of_two(value);
}

std::optional<std::int64_t> ValueRule::at_most(std::int64_t most) const {
  most = std::min(most, high);
  if (most < low) return std::nullopt;
  if (powers_of_two) return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(most)));
  return most - ((most - offset) % step + step) % step;
}

bool SizeRules::Relation::about(const Sizes& sizes) const {
  return sizes.contains(a) && sizes.contains(b) && (c.empty() || sizes.contains(c));
}

bool SizeRules::Relation::holds(const Sizes& sizes) const {
  const std::int64_t x = sizes.at(a), y = sizes.at(b);
  std::int64_t z = 0;
  switch (kind) {
    case Kind::ratio:
      return x * q == y * p;
    case Kind::difference:
      return y - x == p;
    case Kind::less:
      return x < y;
    case Kind::at_most:
      return x <= y;
    case Kind::divides:
      return y % x == 0;
    case Kind::product:
      return !__builtin_mul_overflow(x, y, &z) && z == sizes.at(c);
    case Kind::sum:
      return x + y == sizes.at(c);
  }
  return true;
}

std::optional<std::int64_t> SizeRules::Relation::solve(const std::string& name, const Sizes& known) const {
  const auto value = [&](const std::string& other) { return known.at(other); };
  const bool rest_known = [&] {
    for (const std::string* other : {&a, &b, &c})
      if (!other->empty() && *other != name && !known.contains(*other)) return false;
    return name == a || name == b || (!c.empty() && name == c);
  }();
  if (!rest_known) return std::nullopt;
  switch (kind) {
    case Kind::ratio:
      return name == a ? value(b) * p / q : value(a) * q / p;
    case Kind::difference:
      return name == a ? value(b) - p : value(a) + p;
    case Kind::product:
      return name == c ? value(a) * value(b) : value(c) / value(name == a ? b : a);
    case Kind::sum:
      return name == c ? value(a) + value(b) : value(c) - value(name == a ? b : a);
    case Kind::less:
    case Kind::at_most:
    case Kind::divides:
      return std::nullopt;
  }
  return std::nullopt;
}

SizeRules::SizeRules(const Task& task) : task_(&task) {
  const std::vector<Sizes> declared = task.all_sizes();
  const auto values_of = [&](const auto& quantity) {
    std::vector<std::int64_t> values;
    for (const Sizes& sizes : declared)
      if (const auto value = quantity(sizes); value.ok()) values.push_back(*value);
    return values;
  };
  for (const std::string& name : task.size_names)
    names_[name] = ValueRule::of_names(values_of([&](const Sizes& sizes) { return Result(sizes.at(name)); }));
  find_pairs(declared);
  find_triples(declared);
  std::set<std::string> seen(task.size_names.begin(), task.size_names.end());
  for (const auto* tensors : {&task.inputs, &task.outputs}) {
    for (const TensorSpec& tensor : *tensors) {
      for (const Expression& extent : tensor.shape) {
        if (extent.names().empty() || !seen.insert(extent.text()).second) continue;
        extents_.push_back(
            {extent, ValueRule::of_extents(values_of([&](const Sizes& s) { return extent.evaluate(s); }))});
      }
      tensors_.push_back(
          {tensor, ValueRule::of_extents(values_of([&](const Sizes& s) { return tensor.elements_at(s); }))});
    }
  }
}

void SizeRules::add_if_shared(const Relation& relation, const std::vector<Sizes>& declared) {
  if (std::all_of(declared.begin(), declared.end(), [&](const Sizes& sizes) { return relation.holds(sizes); }))
    relations_.push_back(relation);
}

void SizeRules::find_pairs(const std::vector<Sizes>& declared) {
  using Kind = Relation::Kind;
  for (const auto& [a, rule_a] : names_) {
    for (const auto& [b, rule_b] : names_) {
      // What a constant has to do with others, their ranges and divisors say.
      if (a == b || rule_a.constant() || rule_b.constant()) continue;
      const std::int64_t x = declared.front().at(a), y = declared.front().at(b), divisor = std::gcd(x, y);
      if (a < b) {
        add_if_shared({Kind::ratio, a, b, "", x / divisor, y / divisor}, declared);
        add_if_shared({Kind::difference, a, b, "", y - x, 1}, declared);
      }
      add_if_shared({Kind::less, a, b, ""}, declared);
      add_if_shared({Kind::at_most, a, b, ""}, declared);
      add_if_shared({Kind::divides, a, b, ""}, declared);
    }
  }
}

void SizeRules::find_triples(const std::vector<Sizes>& declared) {
  for (const auto& [a, rule_a] : names_) {
    for (const auto& [b, rule_b] : names_) {
      for (const auto& [c, rule_c] : names_) {
        if (a >= b || c == a || c == b || rule_c.constant()) continue;
        add_if_shared({Relation::Kind::product, a, b, c}, declared);
        add_if_shared({Relation::Kind::sum, a, b, c}, declared);
      }
    }
  }
}

bool SizeRules::allow_some(const Sizes& some) const {
  for (const auto& [name, value] : some)
    if (!names_.at(name).allows(value)) return false;
  return std::all_of(relations_.begin(), relations_.end(),
                     [&](const Relation& relation) { return !relation.about(some) || relation.holds(some); });
}

bool SizeRules::allow(const Sizes& sizes) const {
  if (!task_->check_sizes(sizes).ok() || !allow_some(sizes)) return false;
  for (const Extent& extent : extents_)
    if (const auto value = extent.expression.evaluate(sizes); !value.ok() || !extent.rule.allows(*value)) return false;
  for (const Elements& elements : tensors_)
    if (const auto value = elements.tensor.elements_at(sizes); !value.ok() || !elements.rule.allows(*value))
      return false;
  return true;
}

const ValueRule& SizeRules::of(const std::string& name) const { return names_.at(name); }

std::optional<std::int64_t> SizeRules::implied(const std::string& name, const Sizes& known) const {
  for (const Relation& relation : relations_)
    if (const auto value = relation.solve(name, known)) return value;
  return std::nullopt;
}

std::vector<std::string> SizeRules::tied_to(const std::string& name) const {
  std::vector<std::string> tied{name};
  const auto has = [&](const std::string& other) {
    return other.empty() || std::find(tied.begin(), tied.end(), other) != tied.end();
  };
  for (std::size_t before = 0; before != tied.size();) {
    before = tied.size();
    for (const Relation& relation : relations_) {
      if (!has(relation.a) && !has(relation.b) && (relation.c.empty() || !has(relation.c))) continue;
      for (const std::string* other : {&relation.a, &relation.b, &relation.c})
        if (!has(*other)) tied.push_back(*other);
    }
  }
  return tied;
}

}  // namespace kw
