#include "app/cli/verdict_print.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "base/table.h"
#include "kernel/judge/missing_time.h"

namespace kw::cli {
namespace {

constexpr int bar_characters = 30;

std::string bar(double share) {
  const int filled = std::clamp(static_cast<int>(std::lround(share * bar_characters)), 0, bar_characters);
  std::string text;
  for (int i = 0; i < filled; ++i) text += "█";
  return text;
}

void print_cases(const Verdict& verdict) {
  if (verdict.cases.empty()) return;
  Table table({"size", "inputs", "output", "error", "allowed", ""},
              {Align::left, Align::left, Align::left, Align::right, Align::right, Align::left});
  for (const CaseVerdict& one : verdict.cases) {
    const bool compared = !one.output.empty();
    table.add({to_string(one.sizes) + (one.hidden ? " (hidden)" : ""), std::string(name_of(one.inputs)),
               compared ? one.output : "-", compared ? fmt::format("{:.2g}", one.max_error) : "-",
               compared ? fmt::format("{:.2g}", one.tolerance) : "-", one.ok ? "ok" : "FAILED"});
  }
  std::cout << table.text() << "\n";
}

void print_resources(const Verdict& verdict) {
  if (verdict.resources.empty()) return;
  Table table({"kernel", "grid", "block", "registers", "shared", "spilled", "occupancy", "limited by"},
              {Align::left, Align::left, Align::left, Align::right, Align::right, Align::right, Align::right});
  for (const KernelUse& use : verdict.resources)
    table.add({use.kernel, use.grid, use.block, std::to_string(use.registers),
               bytes_text(static_cast<double>(use.shared_bytes)), bytes_text(use.spill_bytes),
               fmt::format("{:.0f} %", 100 * use.occupancy), use.occupancy_limiter});
  std::cout << table.text() << "\n";
}

void print_times(const Verdict& verdict, Baseline naive) {
  if (verdict.times.empty()) return;
  Table table({"size", "time", "from", "to", std::string(name_of(naive)), "speedup", "of the limit", "limited by"},
              {Align::left, Align::right, Align::right, Align::right, Align::right, Align::right, Align::right});
  for (const SizedTime& time : verdict.times)
    table.add({to_string(time.sizes), fmt::format("{:.2f} us", time.time_us),
               fmt::format("{:.2f}", time.interval_us.low), fmt::format("{:.2f}", time.interval_us.high),
               time.naive_us ? fmt::format("{:.2f} us", *time.naive_us) : "?",
               time.naive_us ? fmt::format("{:.2f} x", *time.naive_us / time.time_us) : "?",
               time.limit_us > 0 ? fmt::format("{:.0f} %", 100 * std::min(time.limit_us / time.time_us, 1.0)) : "?",
               time.limiter});
  std::cout << fmt::format("Time, {} on {}:\n", verdict.time_source, verdict.profile) << table.text();
  if (const SizedTime& first = verdict.times.front(); first.limit_us > 0)
    std::cout << fmt::format("the limit at {}: {:.2f} us, {}\n", to_string(first.sizes), first.limit_us, first.limit);
  std::cout << "\n";
}

void print_pytorch(const Verdict& verdict) {
  if (!verdict.speedup_pytorch) return;
  std::string line = fmt::format("{:.2f} x {} eager", *verdict.speedup_pytorch, words_of(Baseline::pytorch));
  if (const auto& interval = verdict.speedup_pytorch_interval)
    line += fmt::format(" ({:.2f} to {:.2f})", interval->low, interval->high);
  if (verdict.speedup_pytorch_tf32)
    line += fmt::format("; {:.2f} x {}", *verdict.speedup_pytorch_tf32, words_of(Baseline::pytorch_tf32));
  std::cout << line << "\n";
}

void print_bars(const Verdict& verdict) {
  if (verdict.terms.empty() || verdict.terms.front().us <= 0) return;
  std::cout << "Where the time goes, each term as if nothing else limited it:\n";
  for (const TimeTerm& term : verdict.terms) {
    if (term.us < 0.01 * verdict.terms.front().us) continue;
    std::cout << fmt::format("  {:<22} {:>10.2f} us  {}\n", term.name, term.us,
                             bar(term.us / verdict.terms.front().us));
  }
  if (!verdict.hot_lines.empty()) std::cout << "Costly lines:\n";
  for (const HotLine& hot : verdict.hot_lines)
    std::cout << fmt::format("  {:>4}  {:>4.0f} %  {:<{}} {}\n", hot.line > 0 ? std::to_string(hot.line) : "?",
                             100 * hot.share, bar(hot.share), bar_characters, hot.reason);
  std::cout << "\n";
}

// " (1.90 to 2.10)", and whether that is a speedup at all.
std::string speedup_words(const Verdict& verdict) {
  if (!verdict.speedup_interval) return "";
  const Interval& interval = *verdict.speedup_interval;
  const bool undecided = interval.low <= 1 && interval.high >= 1;
  return fmt::format(" ({:.2f} to {:.2f}{})", interval.low, interval.high, undecided ? ": no difference is shown" : "");
}

// What was executed and compared where the kernel is timed, when somebody asked or something was taken on trust.
void print_audit(const Verdict& verdict) {
  for (const FullSizeAudit& audit : verdict.audit) {
    const std::string inputs = audit.inputs == "ordinary" ? "" : ", unusual inputs (" + audit.inputs + ")";
    std::cout << fmt::format("at {}{}: {} of {} blocks executed, {} of {} elements compared; {}\n",
                             to_string(audit.sizes), inputs, audit.blocks_run, audit.blocks, audit.compared,
                             audit.elements, audit.method);
    for (const std::string& assumed : audit.assumed) std::cout << "    assumed: " << assumed << "\n";
  }
}

}  // namespace

void print_verdict(const Verdict& verdict, Baseline naive) {
  print_cases(verdict);
  print_resources(verdict);
  print_times(verdict, naive);
  print_bars(verdict);
  print_audit(verdict);
  for (const auto* list : {&verdict.findings, &verdict.hints})
    for (const VerdictFinding& finding : *list) {
      std::cout << fmt::format("{}{}: [{}] {}\n", verdict.kernel_file,
                               finding.line > 0 ? fmt::format(":{}", finding.line) : "", finding.kind, finding.message);
      if (!finding.advice.empty()) std::cout << "    advice: " << finding.advice << "\n";
    }
  if (!verdict.flags.empty()) {
    std::cout << "flags:";
    for (const std::string& flag : verdict.flags) std::cout << " " << flag;
    std::cout << "\n";
  }
  std::cout << fmt::format("{}: {}\n", to_string(verdict.status), verdict.summary);
  if (verdict.speedup_naive)
    std::cout << fmt::format("{:.2f} us, {:.2f} x {}{} ({} {})\n", *verdict.time_us, *verdict.speedup_naive,
                             words_of(naive), speedup_words(verdict), verdict.time_source,
                             verdict.measured_on ? "on " + verdict.measured_on->device : "for " + verdict.profile);
  else if (verdict.time_us)
    std::cout << fmt::format("{:.2f} us ({}); no speedup is known\n", *verdict.time_us, verdict.time_source);
  else if (const std::string reason = missing_time_reason(verdict); !reason.empty())
    std::cout << "no time: " << reason << "\n";
  print_pytorch(verdict);
  std::cout << fmt::format("judged in {:.0f} ms{}\n", verdict.judge_ms, verdict.from_cache ? " (from the cache)" : "");
}

}  // namespace kw::cli
