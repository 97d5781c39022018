#include "kernel/judge/case_answer.h"

#include <algorithm>
#include <cmath>

#include "kernel/judge/made_sizes.h"

namespace kw {
namespace {

// A bound is taken from so many elements of an output, of several draws where one has fewer.
constexpr std::int64_t elements_for_a_bound = 64;
constexpr std::int64_t most_draws = 6;
constexpr std::int64_t largest_redrawn = 1'000'000;  // elements of all tensors; large outputs speak for themselves
// Beside those of one input at a time. An index depends on many values at once.
constexpr int nudges_of_numbers = 1, nudges_of_indices = 3;
// A share of unstable elements from which it is asked whether the reference gives the same twice.
constexpr double suspicious_share = 0.125;

constexpr double most_last_bits = 1024;

// Of a tolerance that the task's file gives, for inputs that it did not have in mind: the reference may use a part.
constexpr double share_for_the_reference = 4;

class Answering {
 public:
  Answering(const Task& task, Reference& reference, Case& one) : task_(task), reference_(reference), one_(one) {}

  Result<bool> run() {
    draws_.resize(task_.outputs.size());
    KW_TRY_VOID(draw(one_.inputs));
    bool usable = true;
    for (auto& draws : draws_) {
      one_.truth.push_back(draws.front().truth);
      usable = usable && (is_finite(draws.front().own) || one_.kind == InputKind::ordinary);
    }
    if (!usable) return false;
    KW_TRY_VOID(draw_again());
    for (const auto& draws : draws_)
      if (one_.kind != InputKind::ordinary && !copes(draws)) return false;
    for (const auto& draws : draws_)
      one_.bounds.push_back(task_.tolerance ? ErrorBound{task_.tolerance->relative, task_.tolerance->absolute}
                                            : derive_bound(draws, terms_of(task_, one_.sizes)));
    KW_TRY_VOID(find_unstable());
    return true;
  }

 private:
  Result<void> draw(const std::vector<InputTensor>& inputs) {
    KW_TRY(auto truth, reference_.run(inputs, one_.sizes, Precision::truth));
    KW_TRY(auto own, reference_.run(inputs, one_.sizes, Precision::task_dtype));
    KW_TRY(auto coarse, reference_.run(coarse_inputs(inputs), one_.sizes, Precision::truth));
    for (std::size_t i = 0; i < draws_.size(); ++i)
      draws_[i].push_back({std::move(truth[i]), std::move(own[i]), std::move(coarse[i])});
    return {};
  }

  // Every draw counts: whether such inputs are fair must not depend on one.
  bool copes(const std::vector<BoundDraw>& draws) const {
    if (!task_.tolerance) return reference_copes(draws);
    const ErrorBound part{task_.tolerance->relative / share_for_the_reference,
                          task_.tolerance->absolute / share_for_the_reference};
    return std::all_of(draws.begin(), draws.end(), [&](const BoundDraw& each) {
      return each.truth.dtype != Dtype::float64 || compare(each.truth, each.own.dtype, each.own.bytes, part).ok;
    });
  }

  // More inputs of the same kind, for outputs of few elements.
  Result<void> draw_again() {
    if (task_.tolerance || elements_of(task_, one_.sizes) > largest_redrawn) return {};
    std::int64_t fewest = elements_for_a_bound;
    for (const OutputTensor& truth : one_.truth)
      if (truth.dtype == Dtype::float64)
        fewest = std::min(fewest, static_cast<std::int64_t>(truth.bytes.size() / sizeof(double)));
    const std::int64_t wanted =
        std::min(most_draws, (elements_for_a_bound + fewest - 1) / std::max<std::int64_t>(fewest, 1));
    for (std::int64_t i = 1; i < wanted; ++i) {
      const std::uint64_t seed = one_.seed + static_cast<std::uint64_t>(i);
      KW_TRY(auto inputs, make_inputs(task_, one_.sizes, seed));
      if (one_.kind != InputKind::ordinary) change_inputs(task_, one_.sizes, inputs, one_.kind, seed);
      KW_TRY_VOID(draw(inputs));
    }
    return {};
  }

  Result<void> find_unstable() {
    std::vector<Nudge> nudges;
    for (std::size_t i = 0; i < one_.inputs.size(); ++i)
      if (can_be_nudged(one_.inputs[i])) nudges.push_back({0, 1, i});
    if (nudges.empty()) return {};
    const bool any_indices = std::any_of(one_.truth.begin(), one_.truth.end(),
                                         [](const OutputTensor& truth) { return truth.dtype != Dtype::float64; });
    for (int i = 0; i < (any_indices ? nudges_of_indices : nudges_of_numbers); ++i)
      nudges.push_back({one_.seed + static_cast<std::uint64_t>(i), 1, std::nullopt});
    for (Nudge nudge : nudges) {
      for (nudge.sign = 1; nudge.sign > -2; nudge.sign -= 2) {
        KW_TRY(const auto nudged, reference_.run(nudged_inputs(one_.inputs, nudge), one_.sizes, Precision::truth));
        for (std::size_t k = 0; k < one_.truth.size(); ++k)
          add_unstable(one_.truth[k], nudged[k], one_.bounds[k], last_bits());
      }
    }
    return forgive_nothing_to_a_random_reference();
  }

  // Equal values are rounded the same way at every step of a sum, so one thread that adds a row is off by a part of its
  // length; and a row that is constant has nothing but such errors to be divided by its spread.
  double last_bits() const {
    if (one_.kind != InputKind::patterned && one_.kind != InputKind::extreme) return 1;
    std::int64_t longest = 1;
    for (const InputTensor& input : one_.inputs)
      for (const std::int64_t extent : input.shape) longest = std::max(longest, extent);
    return std::clamp(static_cast<double>(longest), 1.0, most_last_bits);
  }

  // What differs from call to call would excuse every kernel.
  Result<void> forgive_nothing_to_a_random_reference() {
    bool suspicious = false;
    for (std::size_t k = 0; k < one_.truth.size(); ++k) {
      const auto elements = static_cast<double>(one_.truth[k].bytes.size() / bytes_of(one_.truth[k].dtype));
      suspicious = suspicious || static_cast<double>(one_.bounds[k].unstable.size()) > suspicious_share * elements;
    }
    if (!suspicious) return {};
    KW_TRY(const auto again, reference_.run(one_.inputs, one_.sizes, Precision::truth));
    for (std::size_t k = 0; k < one_.truth.size(); ++k)
      if (again[k].bytes != one_.truth[k].bytes) one_.bounds[k].unstable.clear();
    return {};
  }

  const Task& task_;
  Reference& reference_;
  Case& one_;
  std::vector<std::vector<BoundDraw>> draws_;  // by output
};

}  // namespace

Result<bool> answer_case(const Task& task, Reference& reference, Case& one) {
  return Answering(task, reference, one).run();
}

}  // namespace kw
