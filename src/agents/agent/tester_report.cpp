#include "agents/agent/tester_report.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "agents/agent/prompt_values.h"
#include "agents/agent/strategies.h"
#include "base/table.h"
#include "kernel/judge/baseline.h"
#include "kernel/judge/missing_time.h"
#include "kernel/source/rules_unicode.h"

namespace kw {
namespace {

constexpr std::size_t findings_shown = 10;
constexpr std::size_t hints_shown = 6;
constexpr std::size_t quoted_bytes = 160;
constexpr std::size_t message_bytes = 500;

std::string plain(std::string_view text, std::size_t bytes) {
  std::string line;
  for (std::size_t at = 0; at < text.size() && line.size() < bytes;) {
    const DecodedCharacter character = decode_utf8(text, at);
    const bool shown = character.valid && character.code_point >= 0x20 && !is_hidden(character.code_point);
    line += shown ? std::string(text.substr(at, character.bytes)) : " ";
    at += character.bytes;
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

class ReportWriter {
 public:
  ReportWriter(const Verdict& verdict, std::string_view kernel, ReportStyle style)
      : verdict_(verdict), kernel_(kernel), markdown_(style == ReportStyle::markdown) {}

  std::string write() {
    heading();
    cases();
    findings("Problems", verdict_.findings, findings_shown);
    time();
    resources();
    findings("Hints", verdict_.hints, hints_shown);
    trust();
    section("Next");
    out_ += words(next_step(verdict_)) + "\n";
    return out_;
  }

 private:
  // Untrusted text. In Markdown every character that could begin markup is escaped.
  std::string words(std::string_view text) const {
    const std::string line = plain(text, message_bytes);
    if (!markdown_) return line;
    std::string escaped;
    for (const char c : line) {
      if (std::string_view("\\`*_{}[]()<>#+-!|~&@:").find(c) != std::string_view::npos) escaped += '\\';
      escaped += c;
    }
    return escaped;
  }

  // A line of code. A span of code ends with as many backticks as it began with, so it begins with one more than it
  // holds.
  std::string code(std::string_view text) const {
    const std::string line = plain(text, quoted_bytes);
    if (!markdown_) return line;
    std::size_t longest = 0, run = 0;
    for (const char c : line) {
      run = c == '`' ? run + 1 : 0;
      longest = std::max(longest, run);
    }
    const std::string fence(longest + 1, '`');
    return longest == 0 ? fence + line + fence : fence + " " + line + " " + fence;
  }

  void section(std::string_view title) {
    out_ += markdown_ ? fmt::format("\n### {}\n\n", title) : fmt::format("\n{}\n", title);
  }

  std::string source_line(std::int64_t number) const {
    std::size_t at = 0;
    if (number <= 0) return "";
    for (std::int64_t line = 1; line < number; ++line) {
      const std::size_t end = kernel_.find('\n', at);
      if (end == std::string_view::npos) return "";
      at = end + 1;
    }
    std::string_view line = kernel_.substr(at, kernel_.substr(at).find('\n'));
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    return std::string(line);
  }

  void quote(std::int64_t line) {
    const std::string source = source_line(line);
    if (!source.empty()) out_ += "    " + code(source) + "\n";
  }

  void heading() {
    const std::string status(to_string(verdict_.status));
    const std::string task = plain(verdict_.task, 80);
    out_ +=
        markdown_ ? fmt::format("## {}: {}\n\n", words(task), words(status)) : fmt::format("{}: {}\n", task, status);
    if (!verdict_.summary.empty()) out_ += words(verdict_.summary) + "\n";
    if (!kernel_.empty()) out_ += words("strategies: " + to_string(strategies_of(kernel_))) + "\n";
  }

  void cases() {
    if (verdict_.cases.empty()) return;
    struct Count {
      int run = 0;
      int right = 0;
      double worst = 0;
    };
    std::map<std::string, Count> kinds;
    for (const CaseVerdict& one : verdict_.cases) {
      Count& count = kinds[std::string(name_of(one.inputs)) + (one.hidden ? ", hidden sizes" : "")];
      ++count.run;
      count.right += one.ok ? 1 : 0;
      if (one.tolerance > 0) count.worst = std::max(count.worst, one.max_error / one.tolerance);
    }
    section("Cases");
    rows({"inputs", "right", "worst error / allowed"}, [&](auto add) {
      for (const auto& [name, count] : kinds)
        add({name, fmt::format("{} of {}", count.right, count.run), fmt::format("{:.2g}", count.worst)});
    });
  }

  template <class Fill>
  void rows(const std::vector<std::string>& headings, Fill fill) {
    if (!markdown_) {
      Table table(headings);
      fill([&](std::vector<std::string> row) {
        for (std::string& cell : row) cell = plain(cell, quoted_bytes);
        table.add(std::move(row));
      });
      out_ += table.text();
      return;
    }
    const auto line = [&](const std::vector<std::string>& cells) {
      for (const std::string& cell : cells) out_ += "| " + cell + " ";
      out_ += "|\n";
    };
    line(headings);
    line(std::vector<std::string>(headings.size(), "---"));
    fill([&](std::vector<std::string> row) {
      for (std::string& cell : row) cell = words(cell);
      line(row);
    });
  }

  void findings(std::string_view title, const std::vector<VerdictFinding>& list, std::size_t most) {
    if (list.empty()) return;
    section(title);
    for (std::size_t i = 0; i < std::min(list.size(), most); ++i) {
      const VerdictFinding& finding = list[i];
      out_ += "- ";
      if (finding.line > 0) out_ += fmt::format("line {}: ", finding.line);
      out_ += fmt::format("{}{}\n", words(fmt::format("[{}] {}", finding.kind, finding.message)),
                          finding.occurrences > 1 ? fmt::format(" ({} times)", finding.occurrences) : "");
      quote(finding.line);
      if (!finding.advice.empty()) out_ += "  " + words("advice: " + finding.advice) + "\n";
    }
    if (list.size() > most) out_ += fmt::format("- and {} more\n", list.size() - most);
  }

  void time() {
    if (const std::string reason = missing_time_reason(verdict_); !reason.empty()) {
      section("Time");
      out_ += words("not known: " + reason) + "\n";
    }
    if (!verdict_.time_us) return;
    section("Time");
    std::string line = fmt::format("{:.2f} us, {}", *verdict_.time_us, verdict_.time_source);
    if (verdict_.time_interval_us)
      line += fmt::format(", {:.2f} to {:.2f}", verdict_.time_interval_us->low, verdict_.time_interval_us->high);
    if (verdict_.speedup_naive)
      line += fmt::format("; {:.2f} x {}", *verdict_.speedup_naive, words_of(Baseline::naive));
    if (const auto& interval = verdict_.speedup_interval)
      line += interval->low <= 1 && interval->high >= 1
                  ? std::string(", but no difference is shown")
                  : fmt::format(" ({:.2f} to {:.2f})", interval->low, interval->high);
    if (verdict_.speedup_pytorch)
      line += fmt::format("; {:.2f} x {}", *verdict_.speedup_pytorch, words_of(Baseline::pytorch));
    if (!verdict_.limiter.empty()) line += "; limited by " + verdict_.limiter;
    out_ += words(line) + "\n";
    for (const HotLine& hot : verdict_.hot_lines) {
      out_ += "- " + (hot.line > 0 ? fmt::format("line {}, ", hot.line) : std::string());
      out_ += words(fmt::format("{:.0f} %: {}", 100 * hot.share, hot.reason)) + "\n";
      quote(hot.line);
    }
  }

  void resources() {
    if (verdict_.resources.empty()) return;
    section("Resources");
    rows({"kernel", "grid", "block", "registers", "shared", "spilled", "occupancy", "limited by"}, [&](auto add) {
      for (const KernelUse& use : verdict_.resources)
        add({use.kernel, use.grid, use.block, std::to_string(use.registers),
             bytes_text(static_cast<double>(use.shared_bytes)), bytes_text(use.spill_bytes),
             fmt::format("{:.0f} %", 100 * use.occupancy), use.occupancy_limiter});
    });
  }

  void trust() {
    if (verdict_.flags.empty() && verdict_.risk.score < 0.05) return;
    section("Trust");
    std::string flags;
    for (const std::string& flag : verdict_.flags) flags += (flags.empty() ? "flags: " : ", ") + flag;
    if (!flags.empty()) out_ += words(flags) + "\n";
    for (const RiskReason& reason : verdict_.risk.reasons)
      out_ += "- " + words(fmt::format("risk {:.2f}: {}", reason.points, reason.what)) + "\n";
  }

  const Verdict& verdict_;
  std::string_view kernel_;
  bool markdown_;
  std::string out_;
};

}  // namespace

std::string next_step(const Verdict& verdict) {
  switch (verdict.status) {
    case VerdictStatus::correct:
      if (!verdict.time_us) return "It is right; its time is not known.";
      if (verdict.speedup_naive && *verdict.speedup_naive < 1) return "It is right and slower than the naive kernel.";
      return verdict.limiter.empty() ? "It is right."
                                     : "It is right; to make it faster, relieve: " + verdict.limiter + ".";
    case VerdictStatus::wrong:
      return "Correct the values first; the cases say for which inputs they are wrong.";
    case VerdictStatus::compile_error:
      return "Make it compile: begin with the first error.";
    case VerdictStatus::rejected:
      return "Leave out what a kernel must not contain.";
    case VerdictStatus::fault:
      return "Guard the accesses: the first problem names the line.";
    case VerdictStatus::race:
      return "Order the accesses with a barrier or an atomic operation.";
    case VerdictStatus::timeout:
      return "Find the loop that does not end, or the work that is done too often.";
    case VerdictStatus::launcher_error:
      return "Correct the launcher: its declaration, grid, block or shared memory.";
    case VerdictStatus::unsupported:
      return "This machine cannot judge it; nothing is said about the kernel.";
    case VerdictStatus::internal_error:
      return "It was not judged: try again.";
  }
  return "";
}

std::string tester_report(const Verdict& verdict, std::string_view kernel, ReportStyle style) {
  return ReportWriter(verdict, kernel, style).write();
}

}  // namespace kw
