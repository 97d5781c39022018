#pragma once
// A pool of compile workers. Each worker is a separate, sandboxed process (see worker.h); a job waits for a free one.
// This is the compiler alone: no cache, no canonical form; see service.h.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/result.h"
#include "kernel/compile/compilation.h"
#include "kernel/compile/wire.h"
#include "kernel/sandbox/protection.h"

namespace kw {

struct PoolOptions {
  int workers = 0;         // 0: one for each core
  bool namespaces = true;  // false: the weaker mode (system-call filter and limits only)
};

// How a job ended. `output` is there when the compiler finished, whether it liked the source or not.
struct JobResult {
  CompileStatus status = CompileStatus::internal_error;
  std::string explanation;
  CompilerOutput output;
};

struct PoolFacts {
  std::string compiler_version;
  std::uint64_t header_fingerprint = 0;
  Protection protection;
};

class CompilePool {
 public:
  explicit CompilePool(const PoolOptions& options = {});
  // Ends all workers at once, whatever they are doing. Unfinished jobs get `internal_error`.
  ~CompilePool();
  CompilePool(const CompilePool&) = delete;
  CompilePool& operator=(const CompilePool&) = delete;

  // From any thread.
  std::future<JobResult> submit(CompilerJob job, const CompileLimits& limits);

  // Waits until one worker is ready, or none can be.
  Result<PoolFacts> facts();

  // Of the living workers, for tests and for measuring memory.
  std::vector<int> worker_pids();

 private:
  struct QueuedJob {
    CompilerJob job;
    CompileLimits limits;
    std::promise<JobResult> promise;
  };
  class Slot;

  // Waits for a job; nothing when the pool ends.
  std::unique_ptr<QueuedJob> next_job();
  bool is_ending();
  void announce(const Result<WorkerGreeting>& greeting);

  const PoolOptions options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<QueuedJob>> queue_;
  std::unique_ptr<Result<PoolFacts>> facts_;
  bool ending_ = false;
  std::vector<std::unique_ptr<Slot>> slots_;
};

}  // namespace kw
