#pragma once
// A training run as a page that can be sent around (base/page/html_report.h): what it was good for, how it learned,
// what was said, where the time went. Reads what `kernelwright train`, `train sft` and `train rl` leave in their
// folders (docs/report.md); what is damaged or not there is named on the page.

#include <filesystem>
#include <string>

#include "base/result.h"

namespace kw {

inline constexpr std::size_t most_report_bytes = std::size_t{2} << 20;

// An error where the folder holds no run at all.
Result<std::string> training_report(const std::filesystem::path& run_folder);
Result<void> write_training_report(const std::filesystem::path& run_folder, const std::filesystem::path& html);

}  // namespace kw
