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

}  // namespace

Extent::Extent(std::int64_t constant) {
  if (constant != 0) products_[{}] = constant;
}

Extent Extent::named(const std::string& name) {
  Extent made;
  made.products_[{name}] = 1;
  return made;
}

Result<Extent> Extent::of(const Expression& expression) {
  Extent made = ExtentReader(expression.text()).sum();
  if (made.broken_) return Error{"the extent '" + expression.text() + "' is too long", "", {}};
  return made;
}

std::optional<std::int64_t> Extent::constant() const {
  if (broken_) return std::nullopt;
  if (products_.empty()) return 0;
  if (products_.size() == 1 && products_.begin()->first.empty()) return products_.begin()->second;
  return std::nullopt;
}

void Extent::add(const Product& product, std::int64_t factor) {
  std::int64_t& sum = products_[product];
  if (__builtin_add_overflow(sum, factor, &sum) || products_.size() > max_products) broken_ = true;
  if (sum == 0) products_.erase(product);
}

Extent operator+(const Extent& left, const Extent& right) {
  Extent made = left;
  made.broken_ = left.broken_ || right.broken_;
  for (const auto& [product, factor] : right.products_) {
    if (made.broken_) break;
    made.add(product, factor);
  }
  return made;
}

Extent operator-(const Extent& left, const Extent& right) { return left + right * Extent(-1); }

Extent operator*(const Extent& left, const Extent& right) {
  Extent made;
  made.broken_ = left.broken_ || right.broken_;
  for (const auto& [one, one_factor] : left.products_) {
    for (const auto& [other, other_factor] : right.products_) {
      std::int64_t factor = 0;
      made.broken_ = made.broken_ || __builtin_mul_overflow(one_factor, other_factor, &factor) ||
                     one.size() + other.size() > Extent::max_products;
      if (made.broken_) return made;
      Extent::Product product(one);
      product.insert(product.end(), other.begin(), other.end());
      std::sort(product.begin(), product.end());
      made.add(product, factor);
    }
  }
  return made;
}

Extent quotient(const Extent& numerator, const Extent& denominator) {
  Extent made;
  made.broken_ = numerator.broken_ || denominator.broken_ || denominator.is(0);
  if (made.broken_) return made;
  if (numerator == denominator) return Extent(1);
  if (denominator.products_.size() == 1 && denominator.products_.begin()->second > 0) {
    // Each product that holds all of the denominator's factors is divided; a constant rest is rounded down.
    const auto& [factors, number] = *denominator.products_.begin();
    bool exact = true;
    Extent rest;
    for (const auto& [product, factor] : numerator.products_) {
      if (factor % number == 0 && std::includes(product.begin(), product.end(), factors.begin(), factors.end())) {
        Extent::Product left;
        std::set_difference(product.begin(), product.end(), factors.begin(), factors.end(), std::back_inserter(left));
        made.add(left, factor / number);
      } else {
        exact = false;
        rest.add(product, factor);
      }
    }
    if (exact) return made;
    const auto whole = rest.constant();
    if (whole && factors.empty()) {
      const std::int64_t down = *whole >= 0 ? *whole / number : -((-*whole + number - 1) / number);
      return made + Extent(down);
    }
  }
  const std::string below = denominator.text();
  std::string text = "((" + numerator.text() + ") / ";
  text += below.find(' ') == std::string::npos && below[0] != '-' ? below + ")" : "(" + below + "))";
  if (text.size() > max_factor_bytes) {
    made.broken_ = true;
    return made;
  }
  return Extent::named(text);
}

std::string Extent::text() const {
  std::string text;
  const auto append = [&](const Product& product, std::int64_t factor) {
    const bool minus = factor < 0;
    if (text.empty())
      text += minus ? "-" : "";
    else
      text += minus ? " - " : " + ";
    std::string number = std::to_string(factor);
    if (minus) number.erase(0, 1);
    if (product.empty() || number != "1") text += number;
    for (std::size_t i = 0; i < product.size(); ++i) text += (i > 0 || number != "1" ? " * " : "") + product[i];
  };
  for (const auto& [product, factor] : products_)
    if (!product.empty() && factor > 0) append(product, factor);
  for (const auto& [product, factor] : products_)
    if (!product.empty() && factor < 0) append(product, factor);
  const auto constant = products_.find({});
  if (constant != products_.end()) append({}, constant->second);
  return text.empty() ? "0" : text;
}

std::vector<std::string> Extent::names() const {
  const auto parsed = Expression::parse(text());
  return parsed.ok() ? parsed->names() : std::vector<std::string>{};
}

Result<std::int64_t> Extent::evaluate(const Sizes& sizes) const {
  if (broken_) return Error{"an extent is too long", "", {}};
  if (const auto number = constant()) return *number;
  KW_TRY(const Expression expression, Expression::parse(text()));
  return expression.evaluate(sizes);
}

Extent elements_of(const Extents& shape) {
  Extent made(1);
  for (const Extent& extent : shape) made = made * extent;
  return made;
}

}  // namespace kw::program
