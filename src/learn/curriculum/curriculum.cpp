#include "learn/curriculum/curriculum.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/random.h"

namespace kw {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

CurriculumRules four_tiers() {
  CurriculumRules rules;
  rules.gates.assign(4, TierGate{});
  return rules;
}

CurriculumRules easy_medium_hard() {
  CurriculumRules rules;
  rules.gates = {{0.80, 0.60, 1.2, 100}, {0.75, 0.50, 1.8, 200}, {0.70, 0.40, 2.5, 300}};
  return rules;
}

Result<Curriculum> Curriculum::make(std::vector<CurriculumTask> tasks, CurriculumRules rules, std::uint64_t seed) {
  if (tasks.empty()) return Error{"a curriculum needs at least one task", "", {}};
  Curriculum made(std::move(rules), seed);
  for (CurriculumTask& task : tasks) {
    if (task.tier < 0 || static_cast<std::size_t>(task.tier) >= made.rules_.gates.size())
      return Error{"the task '" + task.name + "' is of tier " + std::to_string(task.tier) + ", which has no gate",
                   "tiers are 0 to " + std::to_string(made.rules_.gates.size() - 1),
                   {}};
    if (!made.tasks_.emplace(task.name, TaskHistory{task.tier, 0, 0}).second)
      return Error{"the task '" + task.name + "' is there twice", "", {}};
    made.tiers_[task.tier].tasks.push_back(std::move(task.name));
  }
  for (auto& [number, tier] : made.tiers_) std::sort(tier.tasks.begin(), tier.tasks.end());
  made.open_tier_ = made.tiers_.begin()->first;
  return made;
}

// The variance of an answer that is right with the probability seen so far (one right and one wrong answer are added,
// so that new tasks count as uncertain), as a share of the largest there is.
double Curriculum::weight(const std::string& task) const {
  const TaskHistory& history = tasks_.at(task);
  const double rate = (history.right + 1) / (history.tried + 2);
  return std::max(rules_.least_weight, 4 * rate * (1 - rate));
}

const std::string& Curriculum::draw_from(const TierHistory& tier, double place) const {
  double all = 0;
  for (const std::string& task : tier.tasks) all += weight(task);
  double left = place * all;
  for (const std::string& task : tier.tasks) {
    left -= weight(task);
    if (left < 0) return task;
  }
  return tier.tasks.back();
}

const std::string& Curriculum::draw() {
  Random random(seed_, draws_++);
  const double which = random.uniform(), place = random.uniform(), earlier = random.uniform();
  const auto open = tiers_.find(open_tier_);
  if (open == tiers_.begin() || which >= rules_.review) return draw_from(open->second, place);
  const auto count = static_cast<double>(std::distance(tiers_.begin(), open));
  const auto chosen = std::next(tiers_.begin(), static_cast<std::ptrdiff_t>(earlier * count));
  return draw_from(chosen->second, place);
}

Result<void> Curriculum::record(const std::string& task, const TaskOutcome& outcome) {
  const auto found = tasks_.find(task);
  if (found == tasks_.end()) return Error{"the curriculum has no task '" + task + "'", "", {}};
  TaskHistory& history = found->second;
  history.right = history.right * rules_.memory + (outcome.correct ? 1 : 0);
  history.tried = history.tried * rules_.memory + 1;
  TierHistory& tier = tiers_.at(history.tier);
  tier.recent.push_back(outcome);
  if (tier.recent.size() > rules_.window) tier.recent.pop_front();
  ++tier.answers;
  advance();
  return {};
}

TierProgress Curriculum::progress(int tier) const {
  TierProgress made;
  made.tier = tier;
  const auto found = tiers_.find(tier);
  if (found == tiers_.end()) return made;
  made.answers = found->second.answers;
  double compiled = 0, correct = 0, logs = 0, timed = 0;
  for (const TaskOutcome& outcome : found->second.recent) {
    compiled += outcome.compiled;
    correct += outcome.correct;
    if (outcome.correct && outcome.speedup > 0) logs += std::log(outcome.speedup), ++timed;
  }
  const auto all = static_cast<double>(std::max<std::size_t>(found->second.recent.size(), 1));
  made.compile_rate = compiled / all;
  made.pass_rate = correct / all;
  made.mean_speedup = timed > 0 ? std::exp(logs / timed) : 0;
  const TierGate& gate = rules_.gates[static_cast<std::size_t>(tier)];
  made.passed = made.answers >= gate.answers && made.compile_rate > gate.compile_rate &&
                made.pass_rate > gate.pass_rate && (gate.mean_speedup <= 0 || made.mean_speedup >= gate.mean_speedup);
  return made;
}

bool Curriculum::mastered() const { return open_tier_ == tiers_.rbegin()->first && progress(open_tier_).passed; }

void Curriculum::advance() {
  const auto open = tiers_.find(open_tier_);
  const auto next = std::next(open);
  if (next == tiers_.end() || !progress(open_tier_).passed) return;
  open_tier_ = next->first;
}

std::string Curriculum::state() const {
  Json json;
  json["open_tier"] = open_tier_;
  json["draws"] = draws_;
  for (const auto& [name, history] : tasks_) json["tasks"][name] = {history.right, history.tried};
  for (const auto& [number, tier] : tiers_) {
    Json recent = Json::array();
    for (const TaskOutcome& outcome : tier.recent)
      recent.push_back({outcome.compiled ? 1 : 0, outcome.correct ? 1 : 0, outcome.speedup});
    json["tiers"][std::to_string(number)] = {{"answers", tier.answers}, {"recent", recent}};
  }
  return json.dump();
}

Result<void> Curriculum::restore(const std::string& state) {
  const auto broken = [] {
    return Error{"this is not the state of a curriculum with these tasks", "start the curriculum anew", {}};
  };
  try {
    const Json json = Json::parse(state);
    Curriculum made(*this);
    made.open_tier_ = json.at("open_tier").get<int>();
    made.draws_ = json.at("draws").get<std::uint64_t>();
    if (json.at("tasks").size() != tasks_.size() || json.at("tiers").size() != tiers_.size() ||
        !tiers_.contains(made.open_tier_))
      return broken();
    for (auto& [name, history] : made.tasks_) {
      history.right = json.at("tasks").at(name).at(0).get<double>();
      history.tried = json.at("tasks").at(name).at(1).get<double>();
    }
    for (auto& [number, tier] : made.tiers_) {
      const Json& from = json.at("tiers").at(std::to_string(number));
      tier.answers = from.at("answers").get<std::int64_t>();
      if (from.at("recent").size() > rules_.window) return broken();
      tier.recent.clear();
      for (const Json& outcome : from.at("recent"))
        tier.recent.push_back(
            {outcome.at(0).get<int>() != 0, outcome.at(1).get<int>() != 0, outcome.at(2).get<double>()});
    }
    *this = std::move(made);
    return {};
  } catch (const Json::exception&) {
    return broken();
  }
}

}  // namespace kw
