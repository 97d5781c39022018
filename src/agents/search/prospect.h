#pragma once
// Which of many kernels without a verdict get one: those with much to gain and fair odds of being right. The expected
// time comes from the performance model, which does not know whether a kernel is right; so kernels of a kind (of one
// operator, level and set of strategies, or with the same constants changed) that were judged wrong before stand back,
// however fast they look.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace kw {

struct Prospect {
  std::string group;  // of kinds: the operator; odds of a kind that is new are those of its group
  std::string kind;
  double expected_us = 0;  // 0: nobody knows
  bool built = true;
};

class RightOdds {
 public:
  void learn(const std::string& group, const std::string& kind, bool right);
  // Between 0 and 1; a half where nothing is known.
  double right(const std::string& group, const std::string& kind) const;

 private:
  struct Count {
    double right = 0, tried = 0;
  };
  std::map<std::string, Count> groups_;
  std::map<std::string, Count> kinds_;
};

// Indices of at most `most` of them, the most promising first. Kinds take turns: several kernels of one kind are right
// or wrong together. `best_us` 0: nothing is right yet.
std::vector<std::size_t> most_promising(const std::vector<Prospect>& prospects, double best_us, const RightOdds& odds,
                                        std::int64_t most);

}  // namespace kw
