#pragma once
// The judge: a task and a kernel's text go in, a verdict comes out. Nothing of the kernel's runs on the host; its
// launcher is interpreted and its device code is emulated, with every check on.

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/recent_store.h"
#include "kernel/compile/cache.h"
#include "kernel/compile/service.h"
#include "kernel/judge/case_book.h"
#include "kernel/judge/judge_limits.h"
#include "kernel/judge/kernel_build.h"
#include "kernel/judge/verdict.h"
#include "kernel/performance/device_profile.h"

namespace kw {

struct Examination;
class FullSizeRun;
class GpuBackend;
class JudgeServices;

struct JudgeOptions {
  DeviceProfile profile;
  std::string secret;  // empty: this machine's own, see machine_secret()
  Policy policy;
  int threads = 1;                    // host threads for one kernel
  bool want_time = true;              // model or measure the time of correct kernels
  GpuBackend* gpu = nullptr;          // judge on it; must outlive the judge. Null: in the emulator alone
  JudgeServices* services = nullptr;  // they judge in its place; must outlive it. Null: it judges by itself
  bool emulator_first = true;  // before a GPU: every check at small sizes, so that it seldom sees a kernel that faults
  bool explain = true;         // on a GPU: also model where the time goes
  bool pytorch = true;         // on a GPU that was started for it: time PyTorch, too
  bool counters = false;       // on a GPU: read the hardware's counters for correct kernels
  bool full_size = true;       // check and time the train sizes; false for debugging tools
  bool audit = false;          // without a GPU: execute all of every full size, where that is possible
  // Of the tasks, drawn in secret, those whose kernels get unusual inputs at full size, too. Their
  // references take as long as everything else about a task that is new.
  double unusual_share = 1;
  bool cache = true;   // keep verdicts on disk
  JudgeLimits limits;  // of each judgement
  // Tasks whose references and naive kernels are kept ready. A kernel of a task that was forgotten gets the same
  // verdict, later by what preparing a new task takes.
  RecentLimits kept_tasks{1024, std::uint64_t{4} << 30};
  std::filesystem::path cache_folder = kw::cache_folder() / "verdicts";
};

// 32 random bytes that this machine made for itself once, readable by this user alone. Whoever knows them can know the
// inputs that a kernel is judged with.
Result<std::string> machine_secret();

class Judge {
 public:
  // The service must outlive the judge.
  Judge(CompileService& service, JudgeOptions options);
  ~Judge();

  // From any number of threads. Never fails: what is wrong with us or the machine is the status internal_error.
  Verdict judge(const Task& task, std::string_view kernel_text, const std::string& file);

  const JudgeOptions& options() const { return options_; }
  // A hash of version and options: everything besides task, kernel, secret, profile and GPU that a verdict depends on.
  const std::string& rules() const { return rules_; }
  std::size_t kept_tasks() const;
  std::uint64_t kept_bytes() const;  // of them all

 private:
  struct TaskEntry;
  std::shared_ptr<TaskEntry> entry_for(const Task& task);
  Verdict judge_uncached(TaskEntry& entry, std::string_view text, const std::string& file, WorkBudget& budget);
  // Its steps. False: the judgement has ended, and its verdict says why.
  struct Judgement;
  bool build_and_answer(Judgement& now);
  bool check_build(Judgement& now) const;
  Examination examine_cases(Judgement& now, const LoadedModule& module);
  // `module`: or why the emulator has not read it.
  void judge_with_gpu(Judgement& now, const Result<LoadedModule>& module);
  void judge_emulated(Judgement& now, const LoadedModule& module);
  std::vector<std::unique_ptr<FullSizeRun>> check_full_sizes(TaskEntry& entry, const KernelBuild& build,
                                                             const LoadedModule& module, std::size_t first_timed_plan,
                                                             std::string_view text, WorkBudget& budget,
                                                             Verdict& verdict);
  // The same with unusual inputs. False, and the verdict says why, unless it is right. `costs`: what each train size
  // took with ordinary ones, in units of the budget.
  bool check_unusual_inputs(TaskEntry& entry, const KernelBuild& build, const LoadedModule& module,
                            std::size_t first_timed_plan, const std::vector<std::uint64_t>& costs, std::uint64_t seed,
                            WorkBudget& budget, Verdict& verdict);
  // Whether the task itself is beyond one judgement: its naive kernel's values cannot be checked there either.
  bool too_heavy(TaskEntry& entry, std::size_t train_size);
  // `checked_share`: of the inputs' bytes, what the checked runs have read.
  void add_times(TaskEntry& entry, const KernelBuild& build, const std::vector<std::unique_ptr<FullSizeRun>>& runs,
                 std::size_t first_timed_plan, WorkBudget& budget, Verdict& verdict, double checked_share);
  void judge_on_gpu(TaskEntry& entry, const KernelBuild& build, const CaseSet& cases, int set,
                    std::size_t first_timed_plan, std::string_view text, double loaded_share, Verdict& verdict);
  // Where a measured time goes, by the model: limiter, terms, hot lines.
  void explain_time(const KernelBuild& build, const LoadedModule& module, const Task& task,
                    std::size_t first_timed_plan, WorkBudget& budget, Verdict& verdict);
  // The naive kernel's modelled times at the train sizes.
  struct NaiveTimes {
    std::vector<std::optional<double>> us;  // nothing where it cannot be had
    std::vector<double> loaded_share;       // of the inputs' bytes, those that it reads; 0: not known
    std::string problem;                    // why
  };
  NaiveTimes naive_times(TaskEntry& entry);
  // The naive kernel's warp instructions for each question of a set; empty when it cannot be run.
  std::vector<std::uint64_t> naive_work(TaskEntry& entry, int set);
  std::string key_of(const TaskEntry& entry, std::string_view text) const;

  CompileService& service_;
  JudgeOptions options_;
  std::string rules_;
  std::string identity_;  // of everything but task and kernel that a verdict depends on
  std::optional<DiskCache> cache_;
  RecentStore<TaskEntry> entries_;  // by the task's identity
};

}  // namespace kw
