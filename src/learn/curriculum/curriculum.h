#pragma once
// Which task next? Tiers open one after the other, each when the one before is mastered (its gate). Within the open
// tiers tasks whose answers are sometimes right and sometimes wrong come most often: only they teach a policy that
// learns from the difference. Earlier tiers never stop coming.
//
// It knows tasks by name and tier alone; what a task is, and whether an answer is right, is others' business.

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace kw {

// What must be reached on a tier, over its latest `window` answers, before the next one opens.
struct TierGate {
  double compile_rate = 0.9;
  double pass_rate = 0.75;
  double mean_speedup = 0;     // geometric mean over right answers, against naive; 0: does not matter
  std::int64_t answers = 200;  // at least so many since the tier opened
};

struct CurriculumRules {
  std::vector<TierGate> gates;  // one for each tier; the last one's decides whether everything is mastered
  std::size_t window = 400;     // answers of a tier that are looked at
  double review = 0.2;          // share of draws from tiers before the open one
  double least_weight = 0.1;    // of a task, against one that is right half of the time
  double memory = 0.98;         // a task's old answers fade by this with each new one
};

CurriculumRules four_tiers();        // 0 basic to 3 advanced: compile 0.9, pass 0.75
CurriculumRules easy_medium_hard();  // lower rates, rising speedup: 1.2, 1.8 and 2.5 times naive

struct CurriculumTask {
  std::string name;
  int tier = 0;
};

struct TaskOutcome {
  bool compiled = false;
  bool correct = false;
  double speedup = 0;  // against naive; 0: not known
};

struct TierProgress {
  int tier = 0;
  std::int64_t answers = 0;  // since it opened
  double compile_rate = 0, pass_rate = 0, mean_speedup = 0;
  bool passed = false;  // its gate
};

class Curriculum {
 public:
  // Tiers without a task are skipped. Refuses no tasks at all, or a tier without a gate.
  static Result<Curriculum> make(std::vector<CurriculumTask> tasks, CurriculumRules rules, std::uint64_t seed);

  int open_tier() const { return open_tier_; }
  bool mastered() const;  // the last tier's gate is passed
  const std::string& draw();
  // Unknown names are refused: they would count nowhere.
  Result<void> record(const std::string& task, const TaskOutcome& outcome);
  TierProgress progress(int tier) const;
  double weight(const std::string& task) const;  // among its tier

  // Everything that the next draw depends on, as JSON text. Restoring refuses a state of other tasks.
  std::string state() const;
  Result<void> restore(const std::string& state);

 private:
  struct TaskHistory {
    int tier = 0;
    double right = 0, tried = 0;  // faded
  };
  struct TierHistory {
    std::vector<std::string> tasks;
    std::deque<TaskOutcome> recent;
    std::int64_t answers = 0;
  };
  Curriculum(CurriculumRules rules, std::uint64_t seed) : rules_(std::move(rules)), seed_(seed) {}
  const std::string& draw_from(const TierHistory& tier, double place) const;
  void advance();

  CurriculumRules rules_;
  std::map<std::string, TaskHistory> tasks_;
  std::map<int, TierHistory> tiers_;
  int open_tier_ = 0;
  std::uint64_t seed_ = 0;
  std::uint64_t draws_ = 0;  // draw n depends on the seed, n and the histories
};

}  // namespace kw
