#pragma once
// What all sizes that a task declares have in common. By its sizes a task says what a kernel may rely on: when every
// declared row is a multiple of 128 long, or has as many elements as there are columns, a kernel may use that. So every
// size that the judge makes up keeps whatever all declared ones (small, train and holdout) share.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernel/task/task.h"

namespace kw {

// What the values of one quantity have in common.
struct ValueRule {
  std::int64_t low = 0, high = 0;
  std::int64_t step = 1, offset = 0;  // values are offset modulo step
  bool powers_of_two = false;

  static ValueRule of_names(const std::vector<std::int64_t>& values);
  // Of quantities that follow from the sizes: nobody relies on their rest modulo something, only on what divides them.
  static ValueRule of_extents(const std::vector<std::int64_t>& values);

  bool allows(std::int64_t value) const;
  bool constant() const { return low == high; }
  // The largest allowed value that is at most `most`; nothing when there is none.
  std::optional<std::int64_t> at_most(std::int64_t most) const;
};

class SizeRules {
 public:
  explicit SizeRules(const Task& task);

  // Does it keep everything that the declared sizes share?
  bool allow(const Sizes& sizes) const;
  // The same for rules of the names in `some` alone.
  bool allow_some(const Sizes& some) const;
  const ValueRule& of(const std::string& name) const;
  // The value that a relation to names of `known` leaves for `name`, where one does.
  std::optional<std::int64_t> implied(const std::string& name, const Sizes& known) const;
  // Names that are tied to `name` by a relation, directly or through others; with the name itself.
  std::vector<std::string> tied_to(const std::string& name) const;

 private:
  struct Relation {
    enum class Kind { ratio, difference, less, at_most, divides, product, sum };
    Kind kind;
    std::string a, b, c;        // c: the third name of product (a * b = c) and sum (a + b = c)
    std::int64_t p = 1, q = 1;  // ratio: a * q = b * p; difference: b - a = p

    bool about(const Sizes& sizes) const;
    bool holds(const Sizes& sizes) const;
    std::optional<std::int64_t> solve(const std::string& name, const Sizes& known) const;
  };
  struct Extent {
    Expression expression;
    ValueRule rule;
  };
  struct Elements {
    TensorSpec tensor;
    ValueRule rule;
  };
  void find_pairs(const std::vector<Sizes>& declared);
  void find_triples(const std::vector<Sizes>& declared);
  void add_if_shared(const Relation& relation, const std::vector<Sizes>& declared);

  const Task* task_;
  std::map<std::string, ValueRule> names_;
  std::vector<Relation> relations_;
  std::vector<Extent> extents_;    // entries of shapes that are more than a name or a number
  std::vector<Elements> tensors_;  // how many elements they have
};

}  // namespace kw
