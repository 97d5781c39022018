#include "learn/rl/guard.h"

#include <algorithm>

#include <fmt/format.h>

namespace kw {
namespace {

constexpr double smoothing = 0.8;  // of pass rates: share that the past keeps

}  // namespace

std::string CollapseGuard::problem_of(const StepSigns& signs) const {
  if (signs.skipped) return "the gradient is not finite";
  if (signs.kl && *signs.kl > options_.most_kl)
    return fmt::format("the policy is {:.3f} nats a token from its start, {:.3f} are allowed", *signs.kl,
                       options_.most_kl);
  if (steps_ > options_.first_steps && first_entropy_ > 0) {
    const double share = signs.entropy / first_entropy_;
    if (share < options_.least_entropy)
      return fmt::format("the entropy fell from {:.4f} to {:.4f}: it hardly tries anything else any more",
                         first_entropy_, signs.entropy);
    if (share > options_.most_entropy)
      return fmt::format("the entropy rose from {:.4f} to {:.4f}: it babbles", first_entropy_, signs.entropy);
  }
  if (tier_steps_ > options_.first_steps && pass_rate_ < (1 - options_.most_fall) * best_pass_rate_)
    return fmt::format("the pass rate fell from {:.0f} % to {:.0f} %", 100 * best_pass_rate_, 100 * pass_rate_);
  return "";
}

GuardAdvice CollapseGuard::look(const StepSigns& signs) {
  if (++steps_ <= options_.first_steps) {
    first_entropy_ += signs.entropy;
    if (steps_ == options_.first_steps) first_entropy_ /= options_.first_steps;
  }
  if (tier_steps_ == 0 || signs.tier != tier_) {
    tier_ = signs.tier;
    tier_steps_ = 0;
    pass_rate_ = signs.pass_rate;
    best_pass_rate_ = 0;
  }
  ++tier_steps_;
  pass_rate_ = smoothing * pass_rate_ + (1 - smoothing) * signs.pass_rate;
  if (tier_steps_ >= options_.first_steps) best_pass_rate_ = std::max(best_pass_rate_, pass_rate_);

  const std::string problem = problem_of(signs);
  bad_ = problem.empty() ? 0 : bad_ + 1;
  if (bad_ < options_.patience) return {};
  bad_ = 0;
  if (cuts_ >= options_.most_cuts)
    return {GuardAction::stop,
            fmt::format("stopped: {}, and lowering the learning rate {} times did not help", problem, cuts_)};
  ++cuts_;
  rate_share_ *= options_.cut;
  return {GuardAction::lower_rate,
          fmt::format("{}: the learning rate is now {:.3g} of what was asked for", problem, rate_share_)};
}

nlohmann::ordered_json CollapseGuard::state() const {
  return {{"steps", steps_},
          {"first_entropy", first_entropy_},
          {"pass_rate", pass_rate_},
          {"best_pass_rate", best_pass_rate_},
          {"tier", tier_},
          {"tier_steps", tier_steps_},
          {"bad", bad_},
          {"cuts", cuts_},
          {"rate_share", rate_share_}};
}

Result<void> CollapseGuard::restore(const nlohmann::ordered_json& state) {
  try {
    CollapseGuard made(options_);
    made.steps_ = state.at("steps").get<int>();
    made.first_entropy_ = state.at("first_entropy").get<double>();
    made.pass_rate_ = state.at("pass_rate").get<double>();
    made.best_pass_rate_ = state.at("best_pass_rate").get<double>();
    made.tier_ = state.at("tier").get<int>();
    made.tier_steps_ = state.at("tier_steps").get<int>();
    made.bad_ = state.at("bad").get<int>();
    made.cuts_ = state.at("cuts").get<int>();
    made.rate_share_ = state.at("rate_share").get<double>();
    *this = made;
    return {};
  } catch (const nlohmann::json::exception& error) {
    return Error{std::string("not the state of a guard: ") + error.what(), "", {}};
  }
}

}  // namespace kw
