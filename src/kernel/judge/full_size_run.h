#pragma once
// A kernel's values at full size. The launch plan is executed as it is, on real inputs, as far as secret elements of
// the outputs need it: the blocks that write them, and whatever these blocks read that earlier steps have written.
// Every value at a sampled place that they store is compared with the reference. Where it cannot be found out which
// blocks write an element, or what they need, everything is executed, if the budget allows that.

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "kernel/judge/block_map.h"
#include "kernel/judge/full_size.h"
#include "kernel/judge/full_size_truth.h"
#include "kernel/judge/kernel_build.h"
#include "kernel/judge/verdict.h"

namespace kw {

struct FullSizeOutcome {
  VerdictStatus status = VerdictStatus::correct;  // or wrong, fault, unsupported, timeout
  std::vector<VerdictFinding> findings;           // what is wrong, when something is
  FullSizeAudit audit;
  bool too_much_work = false;  // unsupported, for that reason
};

class FullSizeRun {
 public:
  // All must outlive it; `truth` is of the plan's sizes. `seed`: secret, and the kernel's own.
  FullSizeRun(const Task& task, const KernelBuild& build, const LoadedModule& module, const SizedPlan& sized,
              std::shared_ptr<const FullSizeTruth> truth, std::uint64_t seed, WorkBudget* budget);
  ~FullSizeRun();
  FullSizeRun(const FullSizeRun&) = delete;
  FullSizeRun& operator=(const FullSizeRun&) = delete;

  // `whole`: in the end every block is executed, and every sampled place compared, if that is not too much work.
  FullSizeOutcome check(bool whole);

  // After a check that went well: the plan with its real contents, for the performance model.
  Result<PreparedPlan> prepare_for_model() const;

 private:
  // Warp instructions of one check; ten million take about a second of one core.
  static constexpr double most_instructions = 250e6;

  struct Selected {
    bool all = false;
    std::set<std::uint64_t> blocks;
  };
  using Selection = std::map<std::size_t, Selected>;  // by step
  struct Execution {
    PreparedPlan plan;
    std::map<std::size_t, std::map<std::uint64_t, BlockFootprint>> seen;  // by step
    RunStatus status = RunStatus::ok;
    std::vector<EmulatorFinding> findings;
    std::string unsupported;
    double instructions = 0;
    bool called_again = false;  // a second time, because variables were left changed
  };
  struct Target {
    std::size_t output = 0;
    std::int64_t element = 0;
    std::uint64_t address = 0;
  };
  enum class Found { right, settled, lost };  // settled: `outcome_` says what is wrong; lost: run everything

  Result<PreparedPlan> prepare() const;  // with real inputs
  Result<void> look_at_plan();
  void learn_maps();
  std::optional<std::map<std::uint64_t, BlockFootprint>> skim(std::size_t step,
                                                              const std::vector<std::uint64_t>& blocks);
  double work_of_everything() const;
  void audit_everything();
  std::vector<Target> choose_targets(std::size_t wanted);
  enum class Writing { somebody, nobody, unknown };
  // `end`: up to there the same blocks write.
  Writing add_writers(std::uint64_t address, std::size_t before_step, Selection& selection, std::uint64_t& end);
  bool add_lacking(const Execution& execution, Selection& selection, bool& grown);
  bool reads_of_others(std::size_t step, std::uint64_t block, const BlockFootprint& footprint, std::size_t& looked_up);
  bool may_reach(std::size_t step, std::uint64_t address) const;
  Found run_targets(const std::vector<Target>& targets);
  Found run_spread();
  Found run_everything();
  Result<Execution> execute(const Selection& selection) const;
  Result<void> run_steps(const Selection& selection, Execution& execution) const;
  Found judge_execution(Execution& execution, const std::vector<Target>& targets, bool whole);
  Found compare_values(Execution& execution, const std::vector<Target>& targets, bool whole);
  void remember(const Selection& selection, const Execution& execution);
  Found settle(VerdictStatus status, VerdictFinding finding);
  Found give_up(const std::string& reason);
  VerdictFinding finding(std::string kind, std::string message, std::string advice) const;
  std::uint64_t address_of(std::size_t output, std::int64_t element) const;
  double left() const;

  const Task& task_;
  const KernelBuild& build_;
  const LoadedModule& module_;
  const SizedPlan& sized_;
  const std::shared_ptr<const FullSizeTruth> truth_;
  Random random_;
  WorkBudget* const budget_;
  FullSizeOutcome outcome_;

  PreparedPlan skimmed_;                  // memory for guesses
  std::map<std::size_t, BlockMap> maps_;  // by step
  std::vector<AddressRange> outputs_;     // where they lie: the same in every memory that is prepared
  std::vector<AddressRange> arrays_;      // all that may be written
  bool one_after_the_other_ = false;      // blocks wait for each other: single ones cannot be run
  bool finds_pointers_ = false;           // kernels may take addresses from memory or variables
  double spent_ = 0;                      // warp instructions
  std::uint64_t units_before_ = 0;        // spent of the budget when the check began
  Selection executed_;                    // with the right result
  std::map<std::size_t, std::map<std::uint64_t, ExecutedBlock>> blocks_;  // the same, by step
};

}  // namespace kw
