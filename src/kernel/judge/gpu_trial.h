#pragma once
// One attempt to judge a kernel, in one worker.

#include "kernel/judge/gpu_backend.h"

namespace kw {

class GpuTrial {
 public:
  // `one_by_one`: each case in a request of its own, so that a fault has an address.
  GpuTrial(GpuBackend& backend, const GpuSubject& subject, GpuTask& data, GpuPool::Lease& lease, bool one_by_one)
      : backend_(backend), subject_(subject), data_(data), worker_(*lease), one_by_one_(one_by_one) {}

  // The verdict with what was found; its status is `correct` when nothing speaks against the kernel.
  Verdict run(Verdict verdict);

 private:
  // Ends a stage of the verdict's costs.
  void stage(const char* name);
  bool load();
  bool check();
  // All in one request; where one of them faults, the caller finds out which in a fresh worker.
  bool run_cases(const std::vector<const Case*>& cases);
  bool run_together(const std::vector<const Case*>& cases, std::vector<RunReply>& replies);
  bool accept_case(const Case& one, const RunReply& reply);
  bool run_again();
  // Whether a result is wrong only because of what an earlier launch left in the module's variables.
  bool blame_kept_state(const Case& one);
  bool stop_for_kept_state(const std::string& where);
  bool run_full_sizes();
  bool run_full_size(const FullSizeCase& full, std::size_t train_size, double& time_us);
  bool measure();
  bool measure_size(std::size_t train_size);
  void note_floor(SizedTime& time);
  bool check_timed_outputs(const FullSizeCase& full, const TimeReply& reply);
  void profile();

  // While the GPU works for this kernel; not while its results are compared.
  template <class Work>
  auto in_turn(const Work& work) {
    {
      const SharedTurn turn(backend_.pool_->turns());
      auto done = work();
      if (done.end != GpuEnd::no_memory) return done;
    }
    const AloneTurn turn(backend_.pool_->turns());
    return work();
  }

  // Each returns false and sets the verdict's status.
  template <class T>
  bool accept(const GpuAnswer<T>& answer, const std::string& where) {
    return answer.done() || refuse(answer.end, answer.text, where);
  }
  bool refuse(GpuEnd end, const std::string& text, const std::string& where);
  bool accept(const MemoryState& memory, const LaunchPlan& plan, const std::string& where);
  bool stop(VerdictStatus status, std::string kind, std::string message, std::string advice = "");
  bool compare_all(const Case& one, const std::vector<std::string>& outputs);
  bool compare_sample(const FullSizeCase& full, const Positions& places, const std::vector<std::string>& outputs,
                      std::size_t first, const std::vector<OutputTensor>& truth, double slack, const char* when);

  const LaunchPlan& plan_of_size(std::size_t train_size) const {
    return subject_.build.plans.at(subject_.first_timed_plan + train_size).plan;
  }
  std::uint64_t next_seed() { return subject_.seed + 7919 * ++placements_; }

  GpuBackend& backend_;
  const GpuSubject& subject_;
  GpuTask& data_;
  GpuWorker& worker_;
  const bool one_by_one_;
  GpuKernel kernel_;
  std::uint64_t placements_ = 0;
  bool state_left_ = false;       // by a run before this one
  std::vector<double> about_us_;  // at each train size
  Verdict verdict_;
  std::chrono::steady_clock::time_point stage_start_ = std::chrono::steady_clock::now();
};

}  // namespace kw
