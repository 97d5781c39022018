#include "agents/reward/facts.h"

#include <algorithm>
#include <cmath>

namespace kw {
namespace {

double share(double value) { return std::isfinite(value) ? std::clamp(value, 0.0, 1.0) : 0.0; }

double share_between(double value, double free, double most) {
  return most > free ? share((value - free) / (most - free)) : 0.0;
}

// Mean over launches, weighted by how long they ran: the long kernel is the one that counts.
std::optional<double> counted(const Verdict& verdict, double KernelCounters::*field) {
  double sum = 0, weight = 0;
  for (const KernelCounters& counters : verdict.counters) {
    const double value = counters.*field;
    if (!std::isfinite(value)) continue;
    const double long_us = counters.duration_us;
    const double own = std::isfinite(long_us) && long_us > 0 ? long_us : 1e-3;
    sum += own * share(value);
    weight += own;
  }
  return weight > 0 ? std::optional<double>(share(sum / weight)) : std::nullopt;
}

const TimeTerm* find_term(const Verdict& verdict, std::string_view name) {
  const auto found =
      std::find_if(verdict.terms.begin(), verdict.terms.end(), [&](const TimeTerm& term) { return term.name == name; });
  return found == verdict.terms.end() ? nullptr : &*found;
}

void add_once(std::vector<std::string>& list, const std::string& text) {
  if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(text);
}

void read_resources(const Verdict& verdict, const FactLimits& limits, RewardFacts& facts) {
  std::optional<double> least_occupancy;
  for (const KernelUse& use : verdict.resources) {
    facts.registers = std::max(facts.registers, use.registers);
    facts.spill_bytes = std::max(facts.spill_bytes, use.spill_bytes);
    facts.shared_bytes = std::max(facts.shared_bytes, use.shared_bytes);
    least_occupancy = std::min(least_occupancy.value_or(1.0), share(use.occupancy));
  }
  facts.register_pressure =
      facts.spill_bytes > 0 ? 1.0 : share_between(facts.registers, limits.registers_free, limits.registers_most);
  facts.shared_over =
      share_between(static_cast<double>(facts.shared_bytes), static_cast<double>(limits.shared_free_bytes),
                    static_cast<double>(limits.shared_most_bytes));
  const auto achieved = counted(verdict, &KernelCounters::achieved_occupancy);
  facts.occupancy = achieved ? achieved : least_occupancy;
}

void read_speed(const Verdict& verdict, const Verdict* other, RewardFacts& facts) {
  if (!facts.correct) return;
  const auto positive = [](const std::optional<double>& value) {
    return value && std::isfinite(*value) && *value > 0 ? value : std::nullopt;
  };
  facts.time_us = positive(verdict.time_us);
  // Without a time (nobody checked the full size, say) there is no speed.
  if (!facts.time_us) return;
  const auto speedup = speedup_over(facts.baseline, verdict, other);
  if (!speedup) return;
  facts.speedup = speedup->factor;
  facts.speedup_source = verdict.time_source.empty() ? "unknown" : verdict.time_source;
  // A speedup is claimed only when its interval excludes 1.
  if (!speedup->shows_difference()) {
    facts.speedup = 1.0;
    facts.speedup_source += ", no difference shown";
  }
}

void read_memory(const Verdict& verdict, const FactLimits& limits, RewardFacts& facts) {
  facts.warp_efficiency = counted(verdict, &KernelCounters::warp_efficiency);
  if (facts.time_us) facts.bandwidth = counted(verdict, &KernelCounters::dram_throughput);
  const TimeTerm* dram = find_term(verdict, "dram bandwidth");
  // Terms are of the first train size, as if nothing else limited the kernel.
  if (facts.time_us && !facts.bandwidth && dram != nullptr && !verdict.times.empty() &&
      verdict.times.front().time_us > 0)
    facts.bandwidth = share(dram->us / verdict.times.front().time_us);
  if (!verdict.terms.empty()) {
    const TimeTerm* shuffles = find_term(verdict, "shuffle pipe");
    facts.uses_shuffle = shuffles != nullptr && shuffles->us > 0;
    // The model names wasteful lines in hot_lines; the text's pitfalls say the same of lines that cost little.
    facts.coalesced = std::none_of(verdict.hot_lines.begin(), verdict.hot_lines.end(), [](const HotLine& hot) {
      return hot.reason.find(" sectors, ") != std::string::npos && hot.reason.ends_with(" would do");
    });
  }
  for (const KernelCounters& counters : verdict.counters)
    for (const double sectors : {counters.sectors_per_request_load, counters.sectors_per_request_store})
      // 16 sectors are 32 lanes with 16 bytes each: the most that a coalesced request moves.
      if (std::isfinite(sectors))
        facts.coalesced = facts.coalesced.value_or(true) && sectors <= 16 * limits.sectors_wasted;
  for (const VerdictFinding& hint : verdict.hints)
    if (hint.kind == "uncoalesced-access" || hint.kind == "strided-access") facts.coalesced = false;
}

}  // namespace

RewardFacts facts_of(const Verdict& verdict, const FactLimits& limits, Baseline baseline, const Verdict* other) {
  RewardFacts facts;
  facts.baseline = baseline;
  facts.status = verdict.status;
  const auto is_one_of = [&](const std::vector<std::string>& known, const std::string& flag) {
    return std::find(known.begin(), known.end(), flag) != known.end();
  };
  for (const std::string& flag : verdict.flags)
    if (verdict.correct && is_one_of(limits.unchecked_flags, flag)) facts.status = VerdictStatus::unsupported;
  facts.correct = verdict.correct && verdict.compiled && facts.status == VerdictStatus::correct;
  facts.compiled = verdict.compiled;
  facts.timeout = verdict.status == VerdictStatus::timeout;
  for (const std::string& flag : verdict.flags)
    if (facts.exploit.empty() && is_one_of(limits.exploit_flags, flag)) facts.exploit = flag;
  facts.cases = static_cast<int>(verdict.cases.size());
  facts.cases_ok = static_cast<int>(
      std::count_if(verdict.cases.begin(), verdict.cases.end(), [](const CaseVerdict& one) { return one.ok; }));
  // How many of the cases went well says nothing about what could not be checked.
  const bool unchecked = facts.status == VerdictStatus::unsupported;
  facts.pass_rate = facts.correct                   ? 1.0
                    : facts.cases == 0 || unchecked ? 0.0
                                                    : static_cast<double>(facts.cases_ok) / facts.cases;
  read_speed(verdict, other, facts);
  read_resources(verdict, limits, facts);
  read_memory(verdict, limits, facts);
  for (const VerdictFinding& hint : verdict.hints) {
    if (hint.severity != Severity::warning) continue;
    add_once(facts.warnings, hint.kind);
    if (hint.kind == "compile") add_once(facts.code_warnings, hint.message);
  }
  facts.risk = share(verdict.risk.score);
  return facts;
}

}  // namespace kw
