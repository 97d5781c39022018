#pragma once
// One attempt to judge a kernel, in one worker.

#include "judge/gpu_backend.h"

namespace kw {

class GpuTrial {
 public:
  GpuTrial(GpuBackend& backend, const GpuSubject& subject, GpuTask& data, GpuPool::Lease& lease)
      : backend_(backend), subject_(subject), data_(data), worker_(*lease) {}

  // The verdict with what was found; its status is `correct` when nothing speaks against the kernel.
  Verdict run(Verdict verdict);

 private:
  bool load();
  bool run_cases();
  bool run_case(const Case& one, bool again);
  bool run_again();
  bool run_full_size(std::size_t train_size);
  bool measure();
  bool measure_size(std::size_t train_size);
  bool check_timed_outputs(const FullSizeCase& full, const TimeReply& reply);
  void profile();

  // Each returns false and sets the verdict's status.
  template <class T>
  bool accept(const GpuAnswer<T>& answer, const std::string& where) {
    return answer.done() || refuse(answer.end, answer.text, where);
  }
  bool refuse(GpuEnd end, const std::string& text, const std::string& where);
  bool accept(const MemoryState& memory, const LaunchPlan& plan, const std::string& where);
  bool stop(VerdictStatus status, std::string kind, std::string message, std::string advice = "");
  bool compare_all(const Case& one, const std::vector<std::string>& outputs);
  bool compare_sample(const FullSizeCase& full, const std::vector<std::string>& outputs, std::size_t first,
                      const std::vector<OutputTensor>& truth, double slack, const char* when);

  const LaunchPlan& plan_of_size(std::size_t train_size) const {
    return subject_.build.plans.at(subject_.first_timed_plan + train_size).plan;
  }
  std::uint64_t next_seed() { return subject_.seed + 7919 * ++placements_; }

  GpuBackend& backend_;
  const GpuSubject& subject_;
  GpuTask& data_;
  GpuWorker& worker_;
  GpuKernel kernel_;
  std::uint64_t placements_ = 0;
  std::vector<double> about_us_;  // at each train size
  Verdict verdict_;
};

}  // namespace kw
