#include "kernel/judge/made_sizes.h"

#include <algorithm>
#include <optional>

#include "base/random.h"

namespace kw {
namespace {

constexpr std::int64_t stretched_elements = 100'000;
constexpr std::size_t most_stretched_sizes = 3;
constexpr std::int64_t shrunk_elements = 50'000;
constexpr std::int64_t largest_batch = 64;
constexpr int attempts_for_each = 100;
constexpr int draws_for_a_value = 20;
// How much larger than the largest small size a hidden one may be, if nothing smaller is found: with one small size, or
// with powers of two, there may be nothing below.
constexpr double growths[] = {1, 2, 4, 8};

// Grows with the work of kernels whose work is more than linear in the elements (products, attention).
double volume_of(const Sizes& sizes) {
  double volume = 1;
  for (const auto& [name, value] : sizes) volume *= static_cast<double>(value);
  return volume;
}

bool contains(const std::vector<Sizes>& list, const Sizes& sizes) {
  return std::find(list.begin(), list.end(), sizes) != list.end();
}

class HiddenSizes {
 public:
  HiddenSizes(const Task& task, std::uint64_t seed)
      : task_(task), rules_(task), known_(task.all_sizes()), starts_(task.sizes_small), random_(seed) {
    // From the largest small size on: close to a corner case there is little room.
    std::stable_sort(starts_.begin(), starts_.end(),
                     [&](const Sizes& a, const Sizes& b) { return elements_of(task, a) > elements_of(task, b); });
    for (const Sizes& sizes : task.sizes_small) {
      most_elements_ = std::max(most_elements_, static_cast<double>(elements_of(task, sizes)));
      most_volume_ = std::max(most_volume_, volume_of(sizes));
    }
  }

  std::vector<Sizes> find(int count) {
    std::vector<Sizes> found;
    for (const double growth : growths) {
      for (int attempt = 0; attempt < attempts_for_each * count && static_cast<int>(found.size()) < count; ++attempt) {
        auto sizes = draw(starts_[static_cast<std::size_t>(attempt) % starts_.size()]);
        if (!sizes || contains(known_, *sizes) || contains(found, *sizes)) continue;
        if (volume_of(*sizes) > growth * most_volume_) continue;
        if (static_cast<double>(elements_of(task_, *sizes)) > growth * most_elements_) continue;
        found.push_back(*std::move(sizes));
      }
      if (!found.empty()) break;
    }
    return found;
  }

 private:
  bool is_known(const std::string& name, std::int64_t value) const {
    return std::any_of(known_.begin(), known_.end(), [&](const Sizes& sizes) { return sizes.at(name) == value; });
  }

  std::int64_t near(const ValueRule& rule, std::int64_t start) {
    std::int64_t value = start;
    if (rule.powers_of_two) {
      const std::int64_t shift = random_.integer(-2, 2);
      value = shift < 0 ? start >> -shift : start << shift;
    } else {
      const std::int64_t reach = std::max<std::int64_t>(start / (3 * rule.step), 3);
      value = start + rule.step * random_.integer(-reach, reach);
    }
    return std::clamp(value, rule.low, rule.high);
  }

  std::optional<Sizes> draw(const Sizes& start) {
    Sizes sizes;
    for (const std::string& name : task_.size_names) {
      const ValueRule& rule = rules_.of(name);
      std::optional<std::int64_t> chosen = rules_.implied(name, sizes);
      const auto fits = [&](std::int64_t value) {
        Sizes more = sizes;
        more[name] = value;
        return rules_.allow_some(more);
      };
      if (chosen && !fits(*chosen)) return std::nullopt;
      const bool free = !chosen && !rule.constant();
      // A value that no size of the file has, so that nothing fixed to one of those can be right.
      for (int i = 0; free && i < draws_for_a_value; ++i) {
        const std::int64_t value = near(rule, start.at(name));
        if (!fits(value)) continue;
        chosen = value;
        if (!is_known(name, value)) break;
      }
      if (!chosen) chosen = start.at(name);
      sizes[name] = *chosen;
    }
    if (!rules_.allow(sizes)) return std::nullopt;
    return sizes;
  }

  const Task& task_;
  SizeRules rules_;
  std::vector<Sizes> known_, starts_;
  Random random_;
  double most_elements_ = 0, most_volume_ = 0;
};

// `name` halved, or the next allowed value below, and with it what is tied to it, as little as need be.
std::optional<Sizes> halved(const SizeRules& rules, const Sizes& sizes, const std::string& name) {
  const auto half_of = [&](const std::string& which) { return rules.of(which).at_most(sizes.at(which) / 2); };
  const auto half = half_of(name);
  if (!half) return std::nullopt;
  std::vector<std::string> tied = rules.tied_to(name);
  // In which order a product and its factors follow decides which of them gives way.
  for (int direction = 0; direction < 2; ++direction) {
    Sizes made = sizes;
    for (const std::string& other : tied) made.erase(other);
    made[name] = *half;
    for (const std::string& other : tied) {
      if (other == name) continue;
      for (const auto& value : {rules.implied(other, made), std::optional(sizes.at(other)), half_of(other)}) {
        if (!value) continue;
        made[other] = *value;
        if (rules.allow_some(made)) break;
        made.erase(other);
      }
      if (!made.contains(other)) break;
    }
    if (made.size() == sizes.size() && rules.allow(made)) return made;
    std::reverse(tied.begin(), tied.end());
  }
  return std::nullopt;
}

}  // namespace

std::int64_t elements_of(const Task& task, const Sizes& sizes) {
  std::int64_t total = 0;
  for (const auto* list : {&task.inputs, &task.outputs}) {
    for (const TensorSpec& spec : *list) {
      const auto elements = spec.elements_at(sizes);
      total += elements.ok() ? *elements : 0;
    }
  }
  return total;
}

std::vector<Sizes> hidden_sizes(const Task& task, std::uint64_t seed, int count) {
  return HiddenSizes(task, seed).find(count);
}

Sizes shrink(const Task& task, Sizes sizes, std::int64_t most_elements) {
  const SizeRules rules(task);
  const auto too_large = [&] { return elements_of(task, sizes) > most_elements; };
  const auto halve = [&](const std::string& name) {
    const auto smaller = halved(rules, sizes, name);
    if (!smaller || elements_of(task, *smaller) >= elements_of(task, sizes)) return false;
    sizes = *smaller;
    return true;
  };
  // First what is outermost of three or more and small, a batch as a rule: what a kernel does seldom depends on it.
  for (std::size_t i = 0; i + 2 < task.size_names.size() && too_large(); ++i) {
    const std::string& name = task.size_names[i];
    if (sizes.at(name) > largest_batch) break;
    while (too_large() && sizes.at(name) % 2 == 0 && sizes.at(name) > 2 && halve(name)) {
    }
  }
  // Then the largest; what is odd comes last, because halving keeps what the others are multiples of.
  std::vector<std::string> names = task.size_names;
  bool smaller = true;
  while (too_large() && smaller) {
    std::stable_sort(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
      const std::int64_t x = sizes.at(a), y = sizes.at(b);
      return std::pair(x % 2, -x) < std::pair(y % 2, -y);
    });
    smaller = std::any_of(names.begin(), names.end(), halve);
  }
  return sizes;
}

std::vector<Sizes> shrunk_sizes(const Task& task) {
  const std::vector<Sizes> known = task.sizes_small;
  std::vector<Sizes> found;
  for (const Sizes& train : task.sizes_train) {
    Sizes sizes = shrink(task, train, shrunk_elements);
    if (!contains(found, sizes) && !contains(known, sizes) && elements_of(task, sizes) <= shrunk_elements)
      found.push_back(std::move(sizes));
  }
  return found;
}

std::vector<Sizes> stretched_sizes(const Task& task) {
  const SizeRules rules(task);
  std::vector<Sizes> starts = task.sizes_small;
  Sizes least = starts.front();
  for (const Sizes& sizes : starts)
    for (const auto& [name, value] : sizes) least[name] = std::min(least[name], value);
  starts.push_back(least);
  std::stable_sort(starts.begin(), starts.end(),
                   [&](const Sizes& a, const Sizes& b) { return elements_of(task, a) < elements_of(task, b); });
  // `name` at `value`, what follows from it, and the rest as in the first of the small sizes with which that goes.
  const auto stretched = [&](const std::string& name, std::int64_t value) -> std::optional<Sizes> {
    for (const Sizes& start : starts) {
      Sizes sizes{{name, value}};
      for (const std::string& other : task.size_names)
        if (other != name) sizes[other] = rules.implied(other, sizes).value_or(start.at(other));
      if (sizes != start && rules.allow(sizes)) return sizes;
    }
    return std::nullopt;
  };
  std::vector<Sizes> found;
  for (const Sizes& train : task.sizes_train) {
    for (const std::string& name : task.size_names) {
      auto sizes = stretched(name, train.at(name));
      if (!sizes || contains(found, *sizes) || contains(task.sizes_small, *sizes)) continue;
      if (elements_of(task, *sizes) <= stretched_elements) found.push_back(*std::move(sizes));
    }
  }
  // Those that are stretched furthest.
  std::stable_sort(found.begin(), found.end(),
                   [&](const Sizes& a, const Sizes& b) { return elements_of(task, a) > elements_of(task, b); });
  if (found.size() > most_stretched_sizes) found.resize(most_stretched_sizes);
  return found;
}

}  // namespace kw
