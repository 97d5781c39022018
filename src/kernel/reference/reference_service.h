#pragma once
// Starts and keeps the processes that answer for references: one worker that has loaded libtorch (worker.h), its forks,
// and one process on the GPU. What dies is started again, with fewer instructions where those may be the reason.

#include <chrono>
#include <deque>
#include <memory>
#include <mutex>

#include "kernel/reference/reference_process.h"
#include "kernel/sandbox/protection.h"

namespace kw {

// Of the calls between two start_work() of a reference (reference.h). Honest references take a tenth of a second.
struct ReferenceLimits {
  std::uint64_t cpu_seconds = 10;
  std::chrono::milliseconds wall{120'000};     // the last resort, on a machine that is busy with other things
  std::chrono::milliseconds gpu_wall{60'000};  // on a GPU, where loading torch's libraries alone takes seconds
  std::uint64_t memory_bytes = std::uint64_t{3} << 30;
};

struct ReferenceFacts {
  std::string torch_version;
  std::size_t instruction_set = 0;  // see instruction_set.h
  Protection protection;
  double start_ms = 0;               // until the worker was ready
  std::uint64_t resident_bytes = 0;  // of it; forks share nearly all of that
};

class ReferenceService {
 public:
  // Lives as long as the program: references may outlive everything else.
  static ReferenceService& instance();

  Result<ReferenceFacts> facts();
  // A process for one task. Where there are many, the oldest that is not at work ends.
  Result<std::shared_ptr<ReferenceProcess>> start();
  // The one process on the GPU, started when it is first wanted or has ended.
  Result<std::shared_ptr<ReferenceProcess>> on_gpu();
  // A process that used this set died as if an instruction were missing. False when there is no smaller set.
  bool use_fewer_instructions_than(std::size_t instruction_set);

  // The next request starts new ones, which see the environment as it is then; for tests.
  void forget_workers();

  ReferenceLimits limits();
  void set_limits(const ReferenceLimits& limits);

 private:
  ReferenceService() = default;
  struct Worker;
  struct Start;

  static Start start_worker(bool gpu, std::size_t instruction_set);
  Result<void> ensure_worker();

  std::mutex mutex_;
  ReferenceLimits limits_;
  std::size_t instruction_set_ = 0;
  bool instruction_set_known_ = false;
  std::shared_ptr<Worker> worker_;
  ReferenceFacts facts_;
  std::deque<std::weak_ptr<ReferenceProcess>> processes_;
  std::mutex gpu_mutex_;
  std::shared_ptr<ReferenceProcess> gpu_;
};

// Of the worker that is running, or of one that is started to find out.
Result<ReferenceFacts> reference_facts();

}  // namespace kw
