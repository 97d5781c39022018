#pragma once
// Extents of tensors as whole-number expressions of a task's size names, in one canonical form: a sum of products, so
// that `heads * dim` and `dim * heads` are the same extent. kernel/task's Expression is the text of one; this is its
// algebra.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kernel/task/expression.h"

namespace kw::program {

class Extent {
 public:
  Extent(std::int64_t constant = 0);  // NOLINT(google-explicit-constructor): a number is an extent
  static Extent named(const std::string& name);
  static Result<Extent> of(const Expression& expression);

  std::optional<std::int64_t> constant() const;
  bool is(std::int64_t value) const { return constant() == value; }

  // What did not fit: more products than max_products, or numbers beyond 64 bits. It stays so in all that is made of
  // it.
  bool broken() const { return broken_; }

  // In the syntax of kernel/task and of C++: `(width - 3) / 2 + 1`.
  std::string text() const;
  std::vector<std::string> names() const;
  Result<std::int64_t> evaluate(const Sizes& sizes) const;

  friend Extent operator+(const Extent& left, const Extent& right);
  friend Extent operator-(const Extent& left, const Extent& right);
  friend Extent operator*(const Extent& left, const Extent& right);
  // Rounds down, for a numerator that is not negative; exact where the division has no rest.
  friend Extent quotient(const Extent& numerator, const Extent& denominator);
  friend bool operator==(const Extent& left, const Extent& right) = default;

  static constexpr std::size_t max_products = 64;

 private:
  using Product = std::vector<std::string>;  // its factors, sorted: size names, and quotients as text
  void add(const Product& product, std::int64_t factor);

  std::map<Product, std::int64_t> products_;  // none is 0; the empty product is the constant
  bool broken_ = false;
};

Extent quotient(const Extent& numerator, const Extent& denominator);
using Extents = std::vector<Extent>;
Extent elements_of(const Extents& shape);

}  // namespace kw::program
