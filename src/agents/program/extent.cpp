#include "agents/program/extent.h"

#include <algorithm>
#include <cctype>

namespace kw::program {
namespace {

constexpr std::size_t max_factor_bytes = 400;

// `sum := product (('+'|'-') product)*` and so on, over a text that Expression has already accepted.
class ExtentReader {
 public:
  explicit ExtentReader(std::string_view text) : text_(text) {}

  Extent sum() {
    Extent made = product();
    for (char sign = next(); sign == '+' || sign == '-'; sign = next()) {
      ++at_;
      made = sign == '+' ? made + product() : made - product();
    }
    return made;
  }

 private:
  char next() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  Extent product() {
    Extent made = factor();
    for (char sign = next(); sign == '*' || sign == '/'; sign = next()) {
      ++at_;
      made = sign == '*' ? made * factor() : quotient(made, factor());
    }
    return made;
  }
  Extent factor() {
    const char c = next();
    if (c == '-') {
      ++at_;
      return Extent(0) - factor();
    }
    if (c == '(') {
      ++at_;
      Extent made = sum();
      if (next() == ')') ++at_;
      return made;
    }
    const std::size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_'))
      ++at_;
    const std::string word(text_.substr(begin, at_ - begin));
    if (word.empty() || std::isdigit(static_cast<unsigned char>(word[0])) == 0) return Extent::named(word);
    return Extent(static_cast<std::int64_t>(std::strtoll(word.c_str(), nullptr, 10)));
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

constexpr char between = '\0';

using Factors = std::vector<std::string_view>;

// Takes it away.
std::string_view first_factor(std::string_view& product) {
  const std::string_view made = product.substr(0, product.find(between));
  product.remove_prefix(std::min(made.size() + 1, product.size()));
  return made;
}

Factors factors_of(std::string_view product) {
  Factors made;
  while (!product.empty()) made.push_back(first_factor(product));
  return made;
}

std::string product_of(const Factors& factors) {
  std::string made;
  for (const std::string_view each : factors) {
    if (!made.empty()) made += between;
    made += each;
  }
  return made;
}

// Of a task's few size names; a map's own way would make a string of each.
std::optional<std::int64_t> size_of(std::string_view name, const Sizes& sizes) {
  for (const auto& [key, value] : sizes)
    if (key == name) return value;
  return std::nullopt;
}

bool is_quotient(std::string_view factor) { return factor.starts_with('('); }

}  // namespace

Extent::Extent(std::int64_t constant) : constant_(constant) {}

Extent Extent::named(const std::string& name) {
  Extent made;
  made.products_.emplace_back(name, 1);
  return made;
}

Result<Extent> Extent::of(const Expression& expression) {
  Extent made = ExtentReader(expression.text()).sum();
  if (made.broken_) return Error{"the extent '" + expression.text() + "' is too long", "", {}};
  return made;
}

std::optional<std::int64_t> Extent::constant() const {
  return broken_ || !products_.empty() ? std::nullopt : std::optional(constant_);
}

void Extent::add(std::string_view product, std::int64_t factor) {
  if (product.empty()) {
    if (__builtin_add_overflow(constant_, factor, &constant_)) broken_ = true;
    return;
  }
  auto place = std::lower_bound(products_.begin(), products_.end(), product,
                                [](const auto& each, std::string_view name) { return each.first < name; });
  if (place == products_.end() || place->first != product) place = products_.emplace(place, product, 0);
  if (__builtin_add_overflow(place->second, factor, &place->second) || products_.size() > max_products) broken_ = true;
  if (place->second == 0) products_.erase(place);
}

Extent operator+(const Extent& left, const Extent& right) {
  Extent made = left;
  made.broken_ = left.broken_ || right.broken_;
  if (!made.broken_) made.add({}, right.constant_);
  for (const auto& [product, factor] : right.products_) {
    if (made.broken_) break;
    made.add(product, factor);
  }
  return made;
}

Extent operator-(const Extent& left, const Extent& right) { return left + right * Extent(-1); }

Extent operator*(const Extent& left, const Extent& right) {
  if (left.is(1)) return right;
  if (right.is(1)) return left;
  Extent made;
  made.broken_ = left.broken_ || right.broken_;
  const auto multiply = [&](std::string_view one, std::int64_t one_factor, std::string_view other,
                            std::int64_t other_factor) {
    std::int64_t factor = 0;
    if (one_factor == 0 || other_factor == 0 || made.broken_) return;
    if (__builtin_mul_overflow(one_factor, other_factor, &factor)) {
      made.broken_ = true;
    } else if (one.empty() || other.empty()) {
      made.add(one.empty() ? other : one, factor);
    } else {
      const Factors few = factors_of(one), more = factors_of(other);
      Factors all;
      std::merge(few.begin(), few.end(), more.begin(), more.end(), std::back_inserter(all));
      made.broken_ = all.size() > Extent::max_products;
      if (!made.broken_) made.add(product_of(all), factor);
    }
  };
  multiply({}, left.constant_, {}, right.constant_);
  for (const auto& [other, factor] : right.products_) multiply({}, left.constant_, other, factor);
  for (const auto& [one, factor] : left.products_) {
    multiply(one, factor, {}, right.constant_);
    for (const auto& [other, other_factor] : right.products_) multiply(one, factor, other, other_factor);
  }
  return made;
}

Extent quotient(const Extent& numerator, const Extent& denominator) {
  Extent made;
  made.broken_ = numerator.broken_ || denominator.broken_ || denominator.is(0);
  if (made.broken_) return made;
  if (numerator == denominator) return Extent(1);
  const bool number = denominator.products_.empty();
  const bool product = denominator.products_.size() == 1 && denominator.constant_ == 0;
  const std::int64_t below = number ? denominator.constant_ : product ? denominator.products_[0].second : 0;
  if (below > 0) {
    // Each product that holds all of the denominator's factors is divided; a constant rest is rounded down.
    const Factors factors = number ? Factors{} : factors_of(denominator.products_[0].first);
    bool rest = false;
    for (const auto& [name, factor] : numerator.products_) {
      const Factors own = factors_of(name);
      if (factor % below == 0 && std::includes(own.begin(), own.end(), factors.begin(), factors.end())) {
        Factors left;
        std::set_difference(own.begin(), own.end(), factors.begin(), factors.end(), std::back_inserter(left));
        made.add(product_of(left), factor / below);
      } else {
        rest = true;
      }
    }
    const std::int64_t whole = numerator.constant_;
    if (!rest && whole == 0) return made;
    if (!rest && number) return made + Extent(whole >= 0 ? whole / below : -((-whole + below - 1) / below));
  }
  const std::string divisor = denominator.text();
  std::string text = "((" + numerator.text() + ") / ";
  text += divisor.find(' ') == std::string::npos && divisor[0] != '-' ? divisor + ")" : "(" + divisor + "))";
  if (text.size() > max_factor_bytes) {
    made.broken_ = true;
    return made;
  }
  return Extent::named(text);
}

std::string Extent::text() const {
  if (products_.empty()) return std::to_string(constant_);
  std::string text;
  const auto append = [&](std::string_view product, std::int64_t factor) {
    const bool minus = factor < 0;
    if (text.empty())
      text += minus ? "-" : "";
    else
      text += minus ? " - " : " + ";
    const bool plain = !product.empty() && (factor == 1 || factor == -1);
    if (!plain) {
      const std::string number = std::to_string(factor);
      text += std::string_view(number).substr(minus ? 1 : 0);
      if (!product.empty()) text += " * ";
    }
    for (const char c : product)
      if (c == between)
        text += " * ";
      else
        text += c;
  };
  for (const auto& [product, factor] : products_)
    if (factor > 0) append(product, factor);
  for (const auto& [product, factor] : products_)
    if (factor < 0) append(product, factor);
  if (constant_ != 0) append({}, constant_);
  return text;
}

std::vector<std::string> Extent::names() const {
  std::vector<std::string> made;
  for (const auto& [product, number] : products_) {
    for (std::string_view rest = product; !rest.empty();) {
      const std::string_view factor = first_factor(rest);
      if (!is_quotient(factor)) {
        made.emplace_back(factor);
      } else if (const auto inside = Expression::parse(factor); inside.ok()) {
        made.insert(made.end(), inside->names().begin(), inside->names().end());
      }
    }
  }
  return made;
}

std::size_t Extent::hash() const {
  std::size_t made = std::hash<std::int64_t>()(constant_);
  for (const auto& [product, factor] : products_)
    made = made * 31 + std::hash<std::string>()(product) + std::hash<std::int64_t>()(factor);
  return made;
}

std::optional<std::int64_t> Extent::value_at(const Sizes& sizes) const {
  std::int64_t sum = constant_;
  for (const auto& [product, number] : products_) {
    std::int64_t value = number;
    for (std::string_view rest = product; !rest.empty();) {
      const std::string_view factor = first_factor(rest);
      std::optional<std::int64_t> one;
      if (!is_quotient(factor)) {
        one = size_of(factor, sizes);
      } else if (const auto parsed = Expression::parse(factor); parsed.ok()) {
        if (const auto made = parsed->evaluate(sizes); made.ok()) one = *made;
      }
      if (!one || __builtin_mul_overflow(value, *one, &value)) return std::nullopt;
    }
    if (__builtin_add_overflow(sum, value, &sum)) return std::nullopt;
  }
  return sum;
}

Result<std::int64_t> Extent::evaluate(const Sizes& sizes) const {
  if (broken_) return Error{"an extent is too long", "", {}};
  if (const auto value = value_at(sizes)) return *value;
  KW_TRY(const Expression expression, Expression::parse(text()));
  return expression.evaluate(sizes);
}

Extent elements_of(const Extents& shape) {
  Extent made(1);
  for (const Extent& extent : shape) made = made * extent;
  return made;
}

}  // namespace kw::program
