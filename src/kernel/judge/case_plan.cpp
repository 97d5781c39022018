#include "kernel/judge/case_plan.h"

#include <algorithm>
#include <array>

#include "base/random.h"
#include "kernel/judge/error_bound.h"
#include "kernel/judge/made_sizes.h"

namespace kw {
namespace {

constexpr std::size_t least_sizes = 3;
constexpr std::size_t least_cases = 5;  // at sizes that are not optional
// A counter of 16 bits is full after so many equal items; a size with more of them is tried where a task counts.
constexpr std::int64_t more_than_16_bits_count = 65'536;
constexpr std::int64_t counting_elements = 200'000;
// Of a size that every kind is tried at: each of them is emulated.
constexpr std::int64_t most_elements_for_all_kinds = 60'000;
// Kinds that keep neighbouring elements different.
constexpr std::array kinds_that_hide_nothing = {InputKind::negative, InputKind::tiny, InputKind::outlier};

void shuffle(std::vector<InputKind>& kinds, Random& random) {
  for (std::size_t i = kinds.size(); i > 1; --i)
    std::swap(kinds[i - 1], kinds[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(i) - 1))]);
}

bool is_whole(const TensorSpec& spec) { return !is_floating_point(spec.dtype); }

// Many whole numbers in, few out: something may be counted.
bool may_count(const Task& task, const Sizes& sizes) {
  return std::any_of(task.outputs.begin(), task.outputs.end(), is_whole) && terms_of(task, sizes) >= 2 &&
         std::any_of(task.inputs.begin(), task.inputs.end(), [&](const TensorSpec& input) {
           const auto elements = input.elements_at(sizes);
           return is_whole(input) && elements.ok() && *elements > more_than_16_bits_count;
         });
}

class CasePlan {
 public:
  CasePlan(const Task& task, std::uint64_t sizes_seed, std::uint64_t kinds_seed)
      : task_(task), sizes_seed_(sizes_seed), random_(kinds_seed) {
    for (const InputKind kind : all_input_kinds)
      if (is_allowed(task, kind)) kinds_.push_back(kind);
    for (const InputKind kind : kinds_that_hide_nothing)
      if (is_allowed(task, kind)) harmless_.push_back(kind);
  }

  std::vector<PlannedCase> make() {
    add_declared();
    const std::size_t declared = task_.sizes_small.size();
    const std::size_t wanted = std::max(least_sizes, declared + 1);
    std::vector<Sizes> hidden = hidden_sizes(task_, sizes_seed_, static_cast<int>(wanted - declared));
    for (Sizes& sizes : hidden) planned_.push_back({std::move(sizes), true});
    add_seeds();
    std::vector<Sizes> optional = shrunk_sizes(task_);
    for (Sizes& sizes : stretched_sizes(task_)) optional.push_back(std::move(sizes));
    for (Sizes& sizes : optional) planned_.push_back({std::move(sizes), true, true, drawn_for_a_size()});
    add_counting();
    return std::move(planned_);
  }

 private:
  void add_declared() {
    std::vector<Sizes> sizes = task_.sizes_small;
    std::stable_sort(sizes.begin(), sizes.end(),
                     [&](const Sizes& a, const Sizes& b) { return elements_of(task_, a) < elements_of(task_, b); });
    std::size_t host = sizes.size() - 1;
    while (host > 0 && elements_of(task_, sizes[host]) > most_elements_for_all_kinds) --host;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      planned_.push_back({sizes[i]});
      std::vector<InputKind> kinds;
      if (i == host) kinds = kinds_;
      if (i + 1 == host) {
        kinds = kinds_;
        shuffle(kinds, random_);
        kinds.resize((kinds.size() + 1) / 2);
      }
      for (const InputKind kind : kinds) planned_.push_back({sizes[i], false, false, kind});
    }
  }

  // A task that allows no kinds has more seeds instead.
  void add_seeds() {
    const std::size_t before = planned_.size();
    for (std::size_t i = 0; planned_.size() < least_cases; ++i) {
      PlannedCase again = planned_[planned_.size() - 1 - i % before];
      again.kind = InputKind::ordinary;
      const auto after = std::find_if(planned_.begin(), planned_.end(),
                                      [&](const PlannedCase& each) { return each.sizes == again.sizes; });
      planned_.insert(after, again);
    }
  }

  InputKind drawn_for_a_size() {
    const auto drawn = static_cast<std::size_t>(random_.integer(0, 3));
    return drawn < harmless_.size() ? harmless_[drawn] : InputKind::ordinary;
  }

  void add_counting() {
    if (!is_allowed(task_, InputKind::repeated) || task_.sizes_train.empty()) return;
    const Sizes sizes = shrink(task_, task_.sizes_train.front(), counting_elements);
    if (elements_of(task_, sizes) > counting_elements || !may_count(task_, sizes)) return;
    planned_.push_back({sizes, true, true, InputKind::repeated});
  }

  const Task& task_;
  const std::uint64_t sizes_seed_;
  Random random_;
  std::vector<InputKind> kinds_, harmless_;
  std::vector<PlannedCase> planned_;
};

}  // namespace

std::vector<PlannedCase> plan_cases(const Task& task, std::uint64_t sizes_seed, std::uint64_t kinds_seed) {
  return CasePlan(task, sizes_seed, kinds_seed).make();
}

}  // namespace kw
