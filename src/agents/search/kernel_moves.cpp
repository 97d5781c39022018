#include "agents/search/kernel_moves.h"

#include <algorithm>

#include "agents/agent/kernel_constants.h"
#include "agents/agent/kernel_edits.h"

namespace kw {
namespace {

constexpr double share_of_pairs = 0.4;
constexpr double share_of_equal_factors = 0.6;  // of pairs
constexpr int most_tries_of_pairs = 32;
constexpr std::size_t values_of_a_pair = 3;
// How far the order of single changes is shuffled, in places of a list of values.
constexpr double shuffled = 1.5;

class MoveFinder {
 public:
  MoveFinder(const std::string& kernel, const ConstantRecords& records, const KnownKernel& known, Random& random)
      : kernel_(kernel), known_(known), random_(random), constants_(kernel_constants(kernel)) {
    std::erase_if(constants_, [&](const KernelConstant& constant) {
      const auto record = records.find(constant.name);
      return record != records.end() && record->second.hopeless();
    });
  }

  std::optional<KernelMove> find() {
    const bool pair_first = random_.uniform() < share_of_pairs;
    if (pair_first)
      if (auto move = pair()) return move;
    if (auto move = single()) return move;
    return pair_first ? std::nullopt : pair();
  }

 private:
  std::optional<KernelMove> made(const std::vector<ConstantChange>& changes) {
    std::string text = with_values(kernel_, changes);
    if (text == kernel_ || known_(text)) return std::nullopt;
    KernelMove move{std::move(text), to_string(changes), {}};
    for (const auto& [constant, value] : changes) move.names.push_back(constant->name);
    return move;
  }

  std::optional<KernelMove> single() {
    struct Step {
      double rank;
      ConstantChange change;
    };
    std::vector<Step> steps;
    for (const KernelConstant& constant : constants_) {
      double place = 0;
      for (const std::int64_t value : other_values(constant))
        steps.push_back({place++ + shuffled * random_.uniform(), {&constant, value}});
    }
    std::ranges::stable_sort(steps, {}, &Step::rank);
    for (const Step& step : steps)
      if (auto move = made({step.change})) return move;
    return std::nullopt;
  }

  ConstantChange any_change(std::size_t constant) {
    const std::vector<std::int64_t> values = other_values(constants_[constant]);
    if (values.empty()) return {&constants_[constant], constants_[constant].value};
    const auto last = static_cast<std::int64_t>(std::min(values.size(), values_of_a_pair)) - 1;
    return {&constants_[constant], values[static_cast<std::size_t>(random_.integer(0, last))]};
  }

  // A block of 256 threads has 8 warps: one of 128 has 4.
  std::optional<KernelMove> by_one_factor(std::size_t first, std::size_t second) {
    const std::int64_t factor = 2 << random_.integer(0, 1);
    const bool up = random_.uniform() < 0.5;
    std::vector<ConstantChange> changes;
    for (const std::size_t i : {first, second}) {
      const std::int64_t value = constants_[i].value;
      if (!up && value % factor != 0) return std::nullopt;
      const std::int64_t next = up ? value * factor : value / factor;
      const std::vector<std::int64_t> possible = other_values(constants_[i]);
      if (std::ranges::find(possible, next) == possible.end()) return std::nullopt;
      changes.emplace_back(&constants_[i], next);
    }
    return made(changes);
  }

  std::optional<KernelMove> pair() {
    if (constants_.size() < 2) return std::nullopt;
    const auto last = static_cast<std::int64_t>(constants_.size()) - 1;
    for (int i = 0; i < most_tries_of_pairs; ++i) {
      const auto first = static_cast<std::size_t>(random_.integer(0, last));
      const auto second = static_cast<std::size_t>(random_.integer(0, last));
      if (first == second) continue;
      if (random_.uniform() < share_of_equal_factors) {
        if (auto move = by_one_factor(std::min(first, second), std::max(first, second))) return move;
        continue;
      }
      if (auto move = made({any_change(std::min(first, second)), any_change(std::max(first, second))})) return move;
    }
    return std::nullopt;
  }

  const std::string& kernel_;
  const KnownKernel& known_;
  Random& random_;
  std::vector<KernelConstant> constants_;
};

}  // namespace

std::optional<KernelMove> next_constant_move(const std::string& kernel, const ConstantRecords& records,
                                             const KnownKernel& known, Random& random) {
  return MoveFinder(kernel, records, known, random).find();
}

std::optional<KernelMove> next_edit(const std::string& kernel, const KnownKernel& known, Random& random) {
  std::vector<KernelEdit> edits = kernel_edits(kernel);
  std::erase_if(edits, [&](const KernelEdit& edit) { return known(edit.kernel); });
  if (edits.empty()) return std::nullopt;
  KernelEdit& edit = edits[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(edits.size()) - 1))];
  return KernelMove{std::move(edit.kernel), std::move(edit.change), {std::move(edit.kind)}};
}

}  // namespace kw
