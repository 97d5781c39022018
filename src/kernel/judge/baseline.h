#pragma once
// What a kernel's speed is stated against: speedups, targets and rewards name one of these.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/judge/verdict.h"

namespace kw {

enum class Baseline : std::uint8_t {
  naive,         // the task's naive kernel; measured times: side by side with it
  given,         // the kernel that somebody began with, or that an Optimizer was shown
  pytorch,       // PyTorch eager; only where times are measured
  library,       // the same task by a library's kernel, which somebody has had judged
  pytorch_tf32,  // PyTorch eager whose products of float32 are rounded to TF32: faster, and less exact than we allow
};

std::vector<std::string> baseline_names();
std::string_view name_of(Baseline baseline);   // in options, JSON and tables: "naive"
std::string_view words_of(Baseline baseline);  // in a sentence: "the naive kernel"
std::optional<Baseline> baseline_from_name(std::string_view name);

struct Speedup {
  double factor = 1;
  std::optional<Interval> interval =
      {};  // in which another measurement lies too; none: the two were not timed together

  // An interval that holds 1 shows no difference; without one the factor is all there is.
  bool shows_difference() const { return !interval || interval->low > 1 || interval->high < 1; }
};

// None where one of the two has no time, or one was measured and the other modelled. `other`: the verdict of the given
// kernel or the library's; the verdict itself knows the other two.
std::optional<Speedup> speedup_over(Baseline baseline, const Verdict& verdict, const Verdict* other = nullptr);

// "2.10 x naive"
std::string speedup_text(Baseline baseline, double factor);

}  // namespace kw
