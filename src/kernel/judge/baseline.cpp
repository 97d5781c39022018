#include "kernel/judge/baseline.h"

#include <array>
#include <cmath>

#include <fmt/format.h>

namespace kw {
namespace {

struct BaselineWords {
  Baseline baseline;
  std::string_view name, words;
};
constexpr std::array baseline_words{
    BaselineWords{Baseline::naive, "naive", "the naive kernel"},
    BaselineWords{Baseline::given, "given", "the given kernel"},
    BaselineWords{Baseline::pytorch, "pytorch", "PyTorch"},
    BaselineWords{Baseline::library, "library", "the library's kernel"},
    BaselineWords{Baseline::pytorch_tf32, "pytorch_tf32", "PyTorch with TF32"},
};

std::optional<double> time_ratio(const Verdict* other, const Verdict& verdict) {
  if (other == nullptr || !other->time_us || !verdict.time_us) return std::nullopt;
  if (other->time_source != verdict.time_source) return std::nullopt;
  return *other->time_us / *verdict.time_us;
}

}  // namespace

std::vector<std::string> baseline_names() {
  std::vector<std::string> names;
  for (const BaselineWords& each : baseline_words) names.emplace_back(each.name);
  return names;
}

std::string_view name_of(Baseline baseline) { return baseline_words.at(static_cast<std::size_t>(baseline)).name; }
std::string_view words_of(Baseline baseline) { return baseline_words.at(static_cast<std::size_t>(baseline)).words; }

std::optional<Baseline> baseline_from_name(std::string_view name) {
  for (const BaselineWords& each : baseline_words)
    if (each.name == name) return each.baseline;
  return std::nullopt;
}

std::optional<Speedup> speedup_over(Baseline baseline, const Verdict& verdict, const Verdict* other) {
  std::optional<double> factor;
  std::optional<Interval> interval;
  switch (baseline) {
    case Baseline::naive:
      factor = verdict.speedup_naive;
      interval = verdict.speedup_interval;
      break;
    case Baseline::pytorch:
      factor = verdict.speedup_pytorch;
      interval = verdict.speedup_pytorch_interval;
      break;
    case Baseline::pytorch_tf32:
      factor = verdict.speedup_pytorch_tf32;
      break;
    case Baseline::given:
    case Baseline::library:
      factor = time_ratio(other, verdict);
      break;
  }
  if (!factor || !std::isfinite(*factor) || *factor <= 0) return std::nullopt;
  return Speedup{*factor, interval};
}

std::string speedup_text(Baseline baseline, double factor) {
  return fmt::format("{:.2f} x {}", factor, name_of(baseline));
}

}  // namespace kw
