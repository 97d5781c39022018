#pragma once
// Extents of tensors as whole-number expressions of a task's size names, in one canonical form: a sum of products, so
// that `heads * dim` and `dim * heads` are the same extent. kernel/task's Expression is the text of one; this is its
// algebra.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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
  std::vector<std::string> names() const;  // of sizes, in no order that means anything
  Result<std::int64_t> evaluate(const Sizes& sizes) const;

  friend Extent operator+(const Extent& left, const Extent& right);
  friend Extent operator-(const Extent& left, const Extent& right);
  friend Extent operator*(const Extent& left, const Extent& right);
  // Rounds down, for a numerator that is not negative; exact where the division has no rest.
  friend Extent quotient(const Extent& numerator, const Extent& denominator);
  friend bool operator==(const Extent& left, const Extent& right) = default;
  std::size_t hash() const;

  static constexpr std::size_t max_products = 64;

 private:
  // Its factors, sorted, with a zero byte between two: size names, and quotients as text. Most are one short name,
  // which a string keeps in itself, and they compare as lists of factors do. Extents are made and copied by the
  // thousand.
  using Product = std::string;
  void add(std::string_view product, std::int64_t factor);
  // Without a word about what is wrong.
  std::optional<std::int64_t> value_at(const Sizes& sizes) const;

  std::int64_t constant_ = 0;
  std::vector<std::pair<Product, std::int64_t>> products_;  // in order; no factor is 0, no product empty
  bool broken_ = false;
};

Extent quotient(const Extent& numerator, const Extent& denominator);
using Extents = std::vector<Extent>;
Extent elements_of(const Extents& shape);

}  // namespace kw::program
