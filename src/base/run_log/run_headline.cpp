#include "base/run_log/run_headline.h"

#include <algorithm>
#include <array>

#include "base/run_log/run_log.h"

namespace kw {
namespace {

constexpr std::array<std::string_view, 10> headlines = {
    "exam/correct", "eval/correct", "evaluate/correct", "judge/pass_rate", "critic/rewards/mean",
    "reward/mean",  "sft/loss",     "exam/loss",        "train/loss",      "actor/loss"};

}  // namespace

std::string status_now(const RunRecord& run) {
  return run.status == "running" && !is_being_written(run.folder) ? "stopped" : run.status;
}

std::optional<std::string> headline_metric(const std::vector<std::string>& names) {
  for (const std::string_view wanted : headlines)
    if (std::find(names.begin(), names.end(), wanted) != names.end()) return std::string(wanted);
  if (names.empty()) return std::nullopt;
  return names.front();
}

}  // namespace kw
