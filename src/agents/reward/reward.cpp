#include "agents/reward/reward.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/table.h"

namespace kw {
namespace {

struct Valued {
  double value = 0;
  std::string why;
};

constexpr double quality_lost_per_warning = 0.25;
constexpr double warnings_that_count_one = 4;

Valued known_share(const std::optional<double>& share, std::string_view what) {
  if (!share) return {0, fmt::format("{} is not known: it was neither counted nor modelled", what)};
  return {*share, fmt::format("{} is {:.0f} %", what, 100 * *share)};
}

Valued speed_of(const RewardFacts& facts, const RewardShape& shape) {
  if (!facts.correct) return {0, "only a right kernel has a speed"};
  if (!facts.speedup) return {0, facts.time_us ? "no speedup is known" : "it has no time"};
  const double speedup = *facts.speedup;
  const bool linear = shape.speed_scale == SpeedScale::linear;
  const double value = linear ? speedup / shape.target_speedup : std::log2(speedup) / std::log2(shape.target_speedup);
  return {value, fmt::format("{:.2f} x {} ({}), the target is {:.2f} x{}", speedup, words_of(facts.baseline),
                             facts.speedup_source, shape.target_speedup, linear ? "" : ", on a logarithmic scale")};
}

Valued improvement_of(const RewardFacts& facts, const RewardShape& shape, const std::optional<GivenKernel>& given) {
  if (!facts.correct) return {0, "a kernel that is not right improves nothing"};
  if (!given) return {0, "there was no kernel before it"};
  if (!given->correct) return {shape.repair, "the kernel before it was not right, this one is"};
  if (!given->time_us || !facts.time_us)
    return {0, "the times of this kernel and the one before it are not both known"};
  const double ratio = *given->time_us / *facts.time_us;
  return {std::log2(ratio) / std::log2(shape.improvement_target),
          fmt::format("{:.2f} us after {:.2f} us, {:.2f} x as fast; {:.2f} x is worth all of it", *facts.time_us,
                      *given->time_us, ratio, shape.improvement_target)};
}

Valued efficiency_of(const RewardFacts& facts) {
  if (!facts.correct) return {0, "only a right kernel is efficient"};
  const double registers = 1 - facts.register_pressure;
  if (!facts.bandwidth) return {0, "the share of the memory's bandwidth is not known"};
  return {*facts.bandwidth * registers,
          fmt::format("{:.0f} % of the memory's bandwidth x {:.2f} for registers", 100 * *facts.bandwidth, registers)};
}

Valued quality_of(const RewardFacts& facts) {
  if (!facts.correct) return {0, "only a right kernel has a quality"};
  const double clean = std::max(0.0, 1 - quality_lost_per_warning * static_cast<double>(facts.warnings.size()));
  std::string kinds;
  for (const std::string& kind : facts.warnings) kinds += (kinds.empty() ? ": " : ", ") + kind;
  return {clean * (1 - facts.risk),
          fmt::format("{} kinds of warnings{}; risk {:.2f}", facts.warnings.size(), kinds, facts.risk)};
}

Valued yes_or_no(const std::optional<bool>& fact, std::string_view yes, std::string_view no) {
  if (!fact) return {0, "not known: nothing was modelled or counted"};
  return {*fact ? 1.0 : 0.0, std::string(*fact ? yes : no)};
}

Valued value_of(RewardTermKind kind, const RewardFacts& facts, const RewardShape& shape,
                const std::optional<GivenKernel>& given) {
  using Kind = RewardTermKind;
  switch (kind) {
    case Kind::compile:
      return {facts.compiled ? 1.0 : 0.0, facts.compiled ? "it compiles" : "it does not compile"};
    case Kind::correct:
      return {facts.correct ? 1.0 : 0.0,
              facts.correct ? "right in every case" : fmt::format("not right: {}", to_string(facts.status))};
    case Kind::pass_rate:
      return {facts.pass_rate, facts.cases == 0 ? std::string(facts.correct ? "right" : "no case was run to the end")
                                                : fmt::format("{} of {} cases right", facts.cases_ok, facts.cases)};
    case Kind::speed:
      return speed_of(facts, shape);
    case Kind::improvement:
      return improvement_of(facts, shape, given);
    case Kind::efficiency:
      return efficiency_of(facts);
    case Kind::quality:
      return quality_of(facts);
    case Kind::register_pressure:
      return {facts.register_pressure, facts.spill_bytes > 0 ? fmt::format("{} registers and {} bytes spilled",
                                                                           facts.registers, facts.spill_bytes)
                                                             : fmt::format("{} registers a thread", facts.registers)};
    case Kind::shared_over:
      return {facts.shared_over,
              fmt::format("{} of shared memory a block", bytes_text(static_cast<double>(facts.shared_bytes)))};
    case Kind::timeout:
      return {facts.timeout ? 1.0 : 0.0, facts.timeout ? "it did not end in time" : "it ended in time"};
    case Kind::warp_shuffle:
      return yes_or_no(facts.uses_shuffle, "warps exchange values by shuffles", "no shuffle is executed");
    case Kind::coalesced:
      return yes_or_no(facts.coalesced, "no costly global access wastes sectors", "global accesses waste sectors");
    case Kind::occupancy:
      return known_share(facts.occupancy, "occupancy");
    case Kind::warp_efficiency:
      return known_share(facts.warp_efficiency, "the share of active threads in a warp");
    case Kind::bandwidth:
      return known_share(facts.bandwidth, "the share of the memory's bandwidth");
    case Kind::warnings:
      return {static_cast<double>(facts.code_warnings.size()) / warnings_that_count_one,
              fmt::format("{} warnings of the compiler", facts.code_warnings.size())};
  }
  return {};
}

// Why the reward is zero whatever the terms say; empty: it is not.
std::string zero_reason(const RewardFacts& facts, const RewardShape& shape) {
  if (facts.status == VerdictStatus::internal_error) return "it was not judged";
  if (!facts.exploit.empty()) return fmt::format("the flag {} makes any reward zero", facts.exploit);
  if (shape.gate && !facts.compiled) return fmt::format("the gate is shut: {}", to_string(facts.status));
  if (shape.gate && !facts.correct)
    return fmt::format("the gate is shut: it compiles and is not right ({})", to_string(facts.status));
  return "";
}

}  // namespace

GivenKernel given_kernel(const Verdict& verdict) {
  const RewardFacts facts = facts_of(verdict);
  return {facts.correct && facts.exploit.empty(), facts.time_us};
}

RewardBreakdown reward_of(const RewardFacts& facts, const RewardShape& shape, const std::optional<GivenKernel>& given,
                          std::optional<AgentRole> role) {
  RewardBreakdown reward;
  reward.shape = shape.name;
  reward.role = role;
  reward.judged = facts.status != VerdictStatus::internal_error;
  reward.decision = zero_reason(facts, shape);
  reward.zeroed = !reward.decision.empty();
  const bool unchecked = facts.status == VerdictStatus::unsupported;
  for (const RewardTermSpec& spec : shape.terms) {
    Valued valued = value_of(spec.kind, facts, shape, given);
    if (unchecked && spec.weight > 0 && spec.kind != RewardTermKind::compile)
      valued = {0, "not all of it could be checked, so it is not paid"};
    RewardTerm term;
    term.kind = spec.kind;
    term.value = std::isfinite(valued.value) ? std::clamp(valued.value, 0.0, spec.most) : 0.0;
    term.weight = spec.weight;
    term.cap = spec.cap();
    // + 0.0: a penalty of nothing is 0 and not -0.
    term.points = reward.zeroed ? 0.0 : std::clamp(term.value * spec.weight, -term.cap, term.cap) + 0.0;
    term.why = std::move(valued.why);
    reward.total += term.points;
    reward.terms.push_back(std::move(term));
  }
  if (!reward.zeroed) {
    reward.total = std::max(0.0, reward.total);
    reward.decision = fmt::format("the sum of {} terms", reward.terms.size());
  }
  return reward;
}

RewardBreakdown reward_of(const Verdict& verdict, const RewardShape& shape, const std::optional<GivenKernel>& given,
                          std::optional<AgentRole> role) {
  RewardFacts facts = facts_of(verdict, {}, shape.baseline);
  if (shape.baseline == Baseline::given && facts.time_us && given && given->correct && given->time_us) {
    facts.speedup = *given->time_us / *facts.time_us;
    facts.speedup_source = verdict.time_source;
  }
  return reward_of(facts, shape, given, role);
}

std::string to_table(const RewardBreakdown& reward) {
  Table table({"term", "value", "weight", "cap", "points", "why"},
              {Align::left, Align::right, Align::right, Align::right, Align::right, Align::left});
  for (const RewardTerm& term : reward.terms)
    table.add({std::string(to_string(term.kind)), fmt::format("{:.3f}", term.value), fmt::format("{:.3f}", term.weight),
               fmt::format("{:.3f}", term.cap), fmt::format("{:+.4f}", term.points), term.why});
  return table.text() + fmt::format("total {:.4f}: {}\n", reward.total, reward.decision);
}

nlohmann::ordered_json to_json(const RewardBreakdown& reward) {
  using Json = nlohmann::ordered_json;
  Json json{{"shape", reward.shape},   {"role", reward.role ? Json(to_string(*reward.role)) : Json(nullptr)},
            {"total", reward.total},   {"judged", reward.judged},
            {"zeroed", reward.zeroed}, {"decision", reward.decision},
            {"terms", Json::array()}};
  for (const RewardTerm& term : reward.terms)
    json["terms"].push_back({{"name", to_string(term.kind)},
                             {"value", term.value},
                             {"weight", term.weight},
                             {"cap", term.cap},
                             {"points", term.points},
                             {"why", term.why}});
  return json;
}

}  // namespace kw
