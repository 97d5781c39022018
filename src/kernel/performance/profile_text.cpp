#include "kernel/performance/profile_text.h"

#include <cmath>

#include <fmt/format.h>

namespace kw {
namespace {

constexpr std::string_view fitted_from = "fitted, was ";
constexpr std::string_view note_key = "fitted:";

// "  fp32: 128   # per SM" with another number: "  fp32: 117.2  # fitted, was 128; per SM".
std::string with_number(std::string_view line, const ProfileChange& change) {
  const std::size_t colon = line.find(':');
  std::string comment;
  if (const std::size_t hash = line.find('#'); hash != std::string_view::npos) {
    std::string_view old = line.substr(hash + 1);
    while (old.starts_with(' ')) old.remove_prefix(1);
    // A comment of an earlier fit would say the wrong thing.
    if (old.starts_with(fitted_from)) {
      const std::size_t end = old.find("; ");
      old = end == std::string_view::npos ? std::string_view{} : old.substr(end + 2);
    }
    if (!old.empty()) comment = "; " + std::string(old);
  }
  return fmt::format("{}: {}  # {}{}{}", line.substr(0, colon), number_text(change.after), fitted_from,
                     number_text(change.before), comment);
}

}  // namespace

std::string number_text(double number) {
  if (number == 0 || !std::isfinite(number)) return fmt::format("{}", number);
  const int digits = 4 - 1 - static_cast<int>(std::floor(std::log10(std::abs(number))));
  return fmt::format("{}", digits > 0 ? std::stod(fmt::format("{:.{}f}", number, digits)) : std::round(number));
}

std::vector<ProfileChange> changes_of(const DeviceProfile& before, const DeviceProfile& after) {
  DeviceProfile a = before, b = after;
  std::vector<ProfileChange> changes;
  auto add = [&](const char* key, double old, double fresh) {
    if (number_text(old) != number_text(fresh)) changes.push_back({key, old, fresh});
  };
  for (const FittedConstant& constant : fitted_constants()) add(constant.key, constant.of(a), constant.of(b));
  add("uncertainty", a.uncertainty, b.uncertainty);
  return changes;
}

std::string with_changes(const std::string& yaml, const std::vector<ProfileChange>& changes, const FitNote& note) {
  std::string result, section;
  bool in_note = false;
  for (std::size_t at = 0; at < yaml.size();) {
    const std::size_t end = std::min(yaml.find('\n', at), yaml.size());
    const std::string_view line(yaml.data() + at, end - at);
    at = end + 1;
    const bool top = !line.empty() && line[0] != ' ' && line[0] != '#';
    if (top) in_note = line.starts_with(note_key);
    if (in_note) continue;
    const std::size_t first = line.find_first_not_of(' '), colon = line.find(':');
    if (first == std::string_view::npos || line[first] == '#' || colon == std::string_view::npos) {
      result += std::string(line) + "\n";
      continue;
    }
    std::string key(line.substr(first, colon - first));
    if (top) section = key;
    if (!top) key = section + "." + key;
    const ProfileChange* change = nullptr;
    for (const ProfileChange& each : changes)
      if (each.key == key) change = &each;
    result += (change ? with_number(line, *change) : std::string(line)) + "\n";
  }
  const ModelErrors& errors = note.errors;
  result += fmt::format(
      "{}  # kernelwright calibrate; the errors are of kernels whose task was held out of the fit, at full sizes\n"
      "  measured: {}\n  date: {}\n  folds: {}\n  times: {}\n  ranking: {:.4f}  # of {} pairs that differ by {} or "
      "more\n"
      "  mean_percent: {:.1f}\n  spearman: {:.4f}\n  kendall: {:.4f}\n  median_factor: {:.3f}\n  factor_90: {:.3f}\n",
      note_key, note.measured, note.date, note.folds, errors.times, errors.ranking(), errors.pairs, clear_difference,
      errors.mean_percent, errors.spearman, errors.kendall, errors.median_factor, errors.factor_90);
  return result;
}

}  // namespace kw
