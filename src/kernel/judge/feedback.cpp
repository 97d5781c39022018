#include "kernel/judge/feedback.h"

#include <algorithm>

#include <fmt/format.h>

#include "kernel/judge/baseline.h"
#include "kernel/judge/missing_time.h"

namespace kw {
namespace {

constexpr std::size_t errors_shown = 5;
constexpr std::size_t hints_shown = 4;
constexpr std::size_t line_characters = 120;

std::string source_line(std::string_view text, int number) {
  std::size_t at = 0;
  for (int line = 1; line < number && at < text.size(); ++line) {
    const std::size_t end = text.find('\n', at);
    if (end == std::string_view::npos) return "";
    at = end + 1;
  }
  std::string_view line = text.substr(at, text.substr(at).find('\n'));
  const std::size_t first = line.find_first_not_of(" \t");
  if (first == std::string_view::npos) return "";
  line = line.substr(first);
  // A cut must not split a character of several bytes.
  std::size_t length = std::min(line.size(), line_characters);
  while (length < line.size() && length > 0 && (static_cast<unsigned char>(line[length]) & 0xC0) == 0x80) --length;
  std::string shown(line.substr(0, length));
  while (!shown.empty() && (shown.back() == '\r' || shown.back() == ' ')) shown.pop_back();
  return shown;
}

void write_finding(std::string& out, const VerdictFinding& finding, std::string_view text) {
  out += finding.line > 0 ? fmt::format("- line {}: ", finding.line) : "- ";
  out += fmt::format("[{}] {}", finding.kind, finding.message);
  if (finding.occurrences > 1) out += fmt::format(" ({} times)", finding.occurrences);
  out += "\n";
  if (finding.line > 0) {
    const std::string line = source_line(text, finding.line);
    if (!line.empty()) out += "    " + line + "\n";
  }
  if (!finding.advice.empty()) out += "  advice: " + finding.advice + "\n";
}

void add_time(std::string& out, const Verdict& verdict, std::string_view text) {
  if (const std::string reason = missing_time_reason(verdict); !reason.empty())
    out += "time: not known: " + reason + "\n";
  if (!verdict.time_us) return;
  out += fmt::format("time: {:.2f} us {} on {}", *verdict.time_us, verdict.time_source, verdict.profile);
  if (verdict.time_interval_us)
    out += fmt::format(" ({:.2f} to {:.2f})", verdict.time_interval_us->low, verdict.time_interval_us->high);
  if (verdict.speedup_naive) out += fmt::format(", {:.2f} x {}", *verdict.speedup_naive, words_of(Baseline::naive));
  out += "\n";
  if (!verdict.measured_limiter.empty()) out += "limited by (counted): " + verdict.measured_limiter + "\n";
  if (!verdict.limiter.empty()) out += "limited by: " + verdict.limiter + "\n";
  for (const HotLine& hot : verdict.hot_lines) {
    out += hot.line > 0 ? fmt::format("- line {} ({:.0f} % of the cost): {}\n", hot.line, 100 * hot.share, hot.reason)
                        : fmt::format("- {:.0f} % of the cost: {}\n", 100 * hot.share, hot.reason);
    const std::string line = hot.line > 0 ? source_line(text, static_cast<int>(hot.line)) : "";
    if (!line.empty()) out += "    " + line + "\n";
  }
  for (const KernelUse& use : verdict.resources) {
    out += fmt::format("- {}: {} registers, {} bytes shared, occupancy {:.0f} % (limited by {})", use.kernel,
                       use.registers, use.shared_bytes, 100 * use.occupancy, use.occupancy_limiter);
    if (use.spill_bytes > 0) out += fmt::format(", spills {} bytes", use.spill_bytes);
    out += "\n";
  }
}

}  // namespace

std::string feedback_text(const Verdict& verdict, std::string_view kernel_text) {
  std::string out = fmt::format("status: {}\n", to_string(verdict.status));
  if (!verdict.summary.empty() && verdict.findings.empty()) out += verdict.summary + "\n";
  std::size_t errors = 0, hints = 0, left_out = 0;
  for (const VerdictFinding& finding : verdict.findings) {
    if (errors++ < errors_shown) {
      write_finding(out, finding, kernel_text);
    } else {
      ++left_out;
    }
  }
  if (left_out > 0) out += fmt::format("- and {} more\n", left_out);
  const auto failed =
      std::count_if(verdict.cases.begin(), verdict.cases.end(), [](const CaseVerdict& one) { return !one.ok; });
  if (failed > 0 && verdict.cases.size() > 1) out += fmt::format("{} of {} cases fail\n", failed, verdict.cases.size());
  add_time(out, verdict, kernel_text);
  for (const VerdictFinding& hint : verdict.hints)
    if (hint.kind != no_time_flag && hints++ < hints_shown) write_finding(out, hint, kernel_text);
  return out;
}

}  // namespace kw
