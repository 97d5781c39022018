#include "judge/case_book.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/hash.h"
#include "base/random.h"

namespace kw {
namespace {

constexpr std::size_t least_sizes = 3;
constexpr std::size_t least_seeds = 5;
constexpr std::int64_t stretched_elements = 100'000;
constexpr std::size_t most_stretched_sizes = 3;
constexpr std::int64_t shrunk_elements = 50'000;
constexpr std::int64_t largest_batch = 64;
constexpr std::int64_t kept_elements = 2'500'000;  // larger cases are made anew each time
// Of all small sizes of a task together: they are emulated, with every check on.
constexpr std::int64_t most_small_elements = 20'000'000;
constexpr double large_scale = 40;  // exp of it overflows a float, products of two do not overflow a half

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

void map_floats(InputTensor& tensor, double (*change)(double)) {
  const std::size_t width = bytes_of(tensor.dtype);
  const auto count = static_cast<std::int64_t>(tensor.bytes.size() / width);
  for (std::int64_t i = 0; i < count; ++i) {
    const double value = change(element_at(tensor.dtype, tensor.bytes, i));
    char* place = tensor.bytes.data() + static_cast<std::size_t>(i) * width;
    if (tensor.dtype == Dtype::float32) {
      const auto number = static_cast<float>(value);
      std::memcpy(place, &number, sizeof number);
    } else if (tensor.dtype == Dtype::float16) {
      const std::uint16_t bits = float16_bits(static_cast<float>(value));
      std::memcpy(place, &bits, sizeof bits);
    } else if (tensor.dtype == Dtype::bfloat16) {
      const std::uint16_t bits = bfloat16_bits(static_cast<float>(value));
      std::memcpy(place, &bits, sizeof bits);
    } else if (tensor.dtype == Dtype::float64) {
      std::memcpy(place, &value, sizeof value);
    }
  }
}

// True when at least one input was changed. Only values that the task calls normal may be anything; a range is a
// promise.
bool change_inputs(const Task& task, std::vector<InputTensor>& inputs, InputKind kind) {
  bool changed = false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TensorSpec& spec = task.inputs[i];
    if (!std::holds_alternative<NormalValues>(spec.values) || !is_floating_point(spec.dtype) || spec.is_scalar())
      continue;
    if (kind == InputKind::negative) map_floats(inputs[i], [](double value) { return -std::abs(value) - 0.125; });
    if (kind == InputKind::large) map_floats(inputs[i], [](double value) { return value * large_scale; });
    if (kind == InputKind::zero) {
      // Half of the leading slices (of rows, say), so that some are all zero and some as usual. All bits zero is 0 in
      // every type.
      const std::int64_t slices = inputs[i].shape.front();
      const auto zeros = static_cast<std::size_t>(slices == 1 ? 1 : slices / 2);
      std::fill_n(inputs[i].bytes.begin(), inputs[i].bytes.size() / static_cast<std::size_t>(slices) * zeros, '\0');
    }
    changed = true;
  }
  return changed;
}

bool finite(const OutputTensor& tensor) {
  if (!is_floating_point(tensor.dtype)) return true;
  const auto count = static_cast<std::int64_t>(tensor.bytes.size() / bytes_of(tensor.dtype));
  for (std::int64_t i = 0; i < count; ++i)
    if (!std::isfinite(element_at(tensor.dtype, tensor.bytes, i))) return false;
  return true;
}

// Fills in truth and bounds. False when the reference itself cannot cope with the inputs in the task's dtype: such a
// case says nothing about a kernel.
Result<bool> answer(const Task& task, Reference& reference, Case& one) {
  KW_TRY(one.truth, reference.run(one.inputs, one.sizes, Precision::truth));
  KW_TRY(const auto own, reference.run(one.inputs, one.sizes, Precision::task_dtype));
  KW_TRY(const auto coarse, reference.run(coarse_inputs(one.inputs), one.sizes, Precision::truth));
  bool usable = true;
  for (std::size_t i = 0; i < one.truth.size(); ++i) {
    usable = usable && (finite(own[i]) || one.kind == InputKind::ordinary);
    one.bounds.push_back(task.tolerance ? ErrorBound{task.tolerance->relative, task.tolerance->absolute}
                                        : derive_bound(one.truth[i], own[i], coarse[i], terms_of(task, one.sizes)));
  }
  return usable;
}

}  // namespace

std::string_view name_of(InputKind kind) {
  switch (kind) {
    case InputKind::ordinary:
      return "ordinary";
    case InputKind::negative:
      return "negative";
    case InputKind::large:
      return "large";
    case InputKind::zero:
      return "zero";
  }
  return "";
}

ScalarInputs scalar_values(const std::vector<InputTensor>& inputs) {
  ScalarInputs scalars;
  for (const InputTensor& tensor : inputs)
    if (tensor.shape.empty()) scalars[tensor.name] = element_at(tensor.dtype, tensor.bytes, 0);
  return scalars;
}

std::vector<Sizes> hidden_sizes(const Task& task, std::uint64_t seed, int count) {
  struct Range {
    std::int64_t low = 0, high = 0, divisor = 0;
  };
  std::map<std::string, Range> ranges;
  for (const Sizes& sizes : task.all_sizes()) {
    for (const auto& [name, value] : sizes) {
      auto [entry, fresh] = ranges.try_emplace(name, Range{value, value, value});
      if (fresh) continue;
      entry->second.low = std::min(entry->second.low, value);
      entry->second.high = std::max(entry->second.high, value);
      entry->second.divisor = std::gcd(entry->second.divisor, value);
    }
  }
  // From the largest small size on: close to a corner case there is little room.
  std::vector<Sizes> starts = task.sizes_small;
  std::stable_sort(starts.begin(), starts.end(),
                   [&](const Sizes& a, const Sizes& b) { return elements_of(task, a) > elements_of(task, b); });
  const std::vector<Sizes> known = task.all_sizes();
  const auto is_known = [&](const std::string& name, std::int64_t value) {
    return std::any_of(known.begin(), known.end(), [&](const Sizes& sizes) { return sizes.at(name) == value; });
  };
  std::vector<Sizes> found;
  Random random(seed);
  for (int attempt = 0; attempt < 40 * count && static_cast<int>(found.size()) < count; ++attempt) {
    Sizes sizes = starts[static_cast<std::size_t>(attempt) % starts.size()];
    for (auto& [name, value] : sizes) {
      const Range& range = ranges.at(name);
      if (range.low == range.high) continue;
      const std::int64_t reach = std::max<std::int64_t>(value / (3 * range.divisor), 3);
      // A value that no size of the file has, so that nothing fixed to one of those can be right.
      const std::int64_t before = value;
      for (int draw = 0; draw < 20; ++draw) {
        value = std::clamp(before + range.divisor * random.integer(-reach, reach), range.low, range.high);
        if (!is_known(name, value)) break;
      }
    }
    const bool fresh = std::find(known.begin(), known.end(), sizes) == known.end() &&
                       std::find(found.begin(), found.end(), sizes) == found.end();
    if (fresh && task.check_sizes(sizes).ok()) found.push_back(std::move(sizes));
  }
  return found;
}

Sizes shrink(const Task& task, Sizes sizes, std::int64_t most_elements) {
  const auto too_large = [&] { return elements_of(task, sizes) > most_elements; };
  // First what is outermost of three or more and small, a batch as a rule: what a kernel does seldom depends on it.
  for (std::size_t i = 0; i + 2 < task.size_names.size() && too_large(); ++i) {
    std::int64_t& value = sizes.at(task.size_names[i]);
    if (value > largest_batch) break;
    while (value % 2 == 0 && value > 2 && too_large()) value /= 2;
  }
  // Then the largest. Halving keeps what large sizes are multiples of.
  while (too_large()) {
    auto largest = sizes.end();
    for (auto each = sizes.begin(); each != sizes.end(); ++each)
      if (each->second % 2 == 0 && (largest == sizes.end() || each->second > largest->second)) largest = each;
    if (largest == sizes.end()) break;
    largest->second /= 2;
  }
  return sizes;
}

std::vector<Sizes> shrunk_sizes(const Task& task) {
  std::vector<Sizes> found;
  for (const Sizes& train : task.sizes_train) {
    Sizes sizes = shrink(task, train, shrunk_elements);
    const bool known = std::find(found.begin(), found.end(), sizes) != found.end();
    if (!known && elements_of(task, sizes) <= shrunk_elements && task.check_sizes(sizes).ok())
      found.push_back(std::move(sizes));
  }
  return found;
}

std::vector<Sizes> stretched_sizes(const Task& task) {
  std::vector<Sizes> found;
  Sizes least = task.sizes_small.front();
  for (const Sizes& sizes : task.sizes_small)
    for (const auto& [name, value] : sizes) least[name] = std::min(least[name], value);
  for (const Sizes& train : task.sizes_train) {
    for (const std::string& name : task.size_names) {
      Sizes sizes = least;
      sizes[name] = train.at(name);
      const bool known = std::find(found.begin(), found.end(), sizes) != found.end();
      if (sizes == least || known || !task.check_sizes(sizes).ok()) continue;
      if (elements_of(task, sizes) <= stretched_elements) found.push_back(std::move(sizes));
    }
  }
  // Those that are stretched furthest.
  std::stable_sort(found.begin(), found.end(),
                   [&](const Sizes& a, const Sizes& b) { return elements_of(task, a) > elements_of(task, b); });
  if (found.size() > most_stretched_sizes) found.resize(most_stretched_sizes);
  return found;
}

CaseBook::CaseBook(Task task, std::string secret) : task_(std::move(task)), secret_(std::move(secret)) {}
CaseBook::~CaseBook() = default;

std::uint64_t CaseBook::seed_of(std::string_view purpose, int a, int b) const {
  const std::string hex =
      Sha256().add(secret_).add(task_.name).add(purpose).add(std::to_string(a)).add(std::to_string(b)).hex();
  return std::stoull(hex.substr(0, 12), nullptr, 16);  // 48 bits: a whole number in every JSON reader
}

int CaseBook::set_for(std::string_view kernel_text) const {
  const std::string hex = Sha256().add(secret_).add(kernel_text).hex();
  return static_cast<int>(std::stoul(hex.substr(0, 4), nullptr, 16) % sets);
}

Result<std::shared_ptr<const std::vector<Case>>> CaseBook::questions(int index) {
  Place& place = places_.at(static_cast<std::size_t>(index));
  std::lock_guard lock(place.mutex);
  if (place.questions == nullptr) {
    KW_TRY(place.questions, make_questions(index));
  }
  return place.questions;
}

Result<std::shared_ptr<const CaseSet>> CaseBook::set(int index) {
  KW_TRY(const auto asked, questions(index));
  Place& place = places_.at(static_cast<std::size_t>(index));
  // One at a time: the reference is one object, and who waits here waits for what it wants.
  std::lock_guard lock(reference_mutex_);
  if (place.answers == nullptr) {
    KW_TRY(place.answers, make_set(*asked));
  }
  return place.answers;
}

Result<std::shared_ptr<const std::vector<Case>>> CaseBook::make_questions(int index) const {
  struct Planned {
    Sizes sizes;
    bool hidden;
    std::vector<InputKind> kinds;
    bool optional = false;
  };
  std::int64_t small_elements = 0;
  for (const Sizes& sizes : task_.sizes_small) small_elements += elements_of(task_, sizes);
  if (small_elements > most_small_elements)
    return Error{"the small sizes of '" + task_.name + "' have " + std::to_string(small_elements) +
                     " elements in all tensors, and at most " + std::to_string(most_small_elements) + " are emulated",
                 "declare smaller ones: what is large belongs into the train sizes",
                 {task_.file, 0, 0}};
  std::vector<Planned> planned;
  for (const Sizes& sizes : task_.sizes_small) planned.push_back({sizes, false, {InputKind::ordinary}});
  const std::size_t wanted = std::max(least_sizes, planned.size() + 1);
  for (const Sizes& sizes : hidden_sizes(task_, seed_of("sizes", index, 0), static_cast<int>(wanted - planned.size())))
    planned.push_back({sizes, true, {InputKind::ordinary}});
  std::stable_sort(planned.begin(), planned.end(), [&](const Planned& a, const Planned& b) {
    return elements_of(task_, a.sizes) < elements_of(task_, b.sizes);
  });
  // The smallest size is often a corner case (one column) and the largest costs most: the one between them gets the
  // unusual inputs.
  for (std::size_t seeds = planned.size(), i = 0; seeds < least_seeds; ++seeds, ++i)
    planned[i % planned.size()].kinds.push_back(InputKind::ordinary);
  auto& middle = planned[planned.size() / 2].kinds;
  middle.insert(middle.end(), {InputKind::negative, InputKind::large, InputKind::zero});
  for (const Sizes& sizes : shrunk_sizes(task_)) planned.push_back({sizes, true, {InputKind::ordinary}, true});
  for (const Sizes& sizes : stretched_sizes(task_)) planned.push_back({sizes, true, {InputKind::ordinary}, true});

  std::vector<Case> questions;
  int number = 0;
  for (const Planned& size : planned) {
    for (const InputKind kind : size.kinds) {
      Case one;
      one.question = questions.size();
      one.sizes = size.sizes;
      one.hidden = size.hidden;
      one.optional = size.optional;
      one.kind = kind;
      one.seed = seed_of("inputs", index, ++number);
      KW_TRY(one.inputs, make_inputs(task_, one.sizes, one.seed));
      if (kind != InputKind::ordinary && !change_inputs(task_, one.inputs, kind)) continue;
      one.scalars = scalar_values(one.inputs);
      questions.push_back(std::move(one));
    }
  }
  return std::make_shared<const std::vector<Case>>(std::move(questions));
}

Result<std::shared_ptr<const Case>> CaseBook::large_case(const Sizes& sizes) {
  const std::string name = to_string(sizes);
  std::lock_guard lock(reference_mutex_);
  if (const auto known = large_.find(name); known != large_.end()) return known->second;
  if (reference_ == nullptr) {
    KW_TRY(reference_, make_reference(task_));
  }
  Case one;
  one.sizes = sizes;
  one.hidden = true;
  one.seed = seed_of("large " + name, 0, 0);
  KW_TRY(one.inputs, make_inputs(task_, sizes, one.seed));
  one.scalars = scalar_values(one.inputs);
  reference_->start_work();
  KW_TRY([[maybe_unused]] const bool usable, answer(task_, *reference_, one));
  auto made = std::make_shared<const Case>(std::move(one));
  if (elements_of(task_, sizes) <= kept_elements) large_[name] = made;
  return made;
}

Result<std::shared_ptr<const CaseSet>> CaseBook::make_set(const std::vector<Case>& questions) {
  if (reference_ == nullptr) {
    KW_TRY(reference_, make_reference(task_));
  }
  reference_->start_work();
  CaseSet made;
  for (const Case& question : questions) {
    Case one = question;
    const auto usable = answer(task_, *reference_, one);
    // A size of our own making may be one that the reference does not accept; the task's own must work.
    if (!usable.ok() && !one.hidden && one.kind == InputKind::ordinary) return usable.error();
    if (usable.ok() && *usable) made.cases.push_back(std::move(one));
  }
  // Constant whatever the inputs, at every size? (With one column a softmax always is.)
  made.constant_outputs = !made.cases.empty();
  for (const Case& one : made.cases) {
    if (!made.constant_outputs) break;
    KW_TRY(const auto inputs, make_inputs(task_, one.sizes, one.seed + 1));
    KW_TRY(const auto other, reference_->run(inputs, one.sizes, Precision::truth));
    for (std::size_t i = 0; i < other.size(); ++i)
      made.constant_outputs = made.constant_outputs && other[i].bytes == one.truth[i].bytes;
  }
  return std::make_shared<const CaseSet>(std::move(made));
}

}  // namespace kw
