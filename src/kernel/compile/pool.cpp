#include "kernel/compile/pool.h"

#include <csignal>

#include "base/parallel_for.h"
#include "kernel/compile/worker_process.h"
#include "kernel/sandbox/worker_deaths.h"

namespace kw {
namespace {

constexpr int most_attempts = 4;  // of a job whose worker was lost

}  // namespace

// One worker and the thread that looks after it. The thread lives as long as the pool, as the kernel ends a worker
// together with the thread that started it.
class CompilePool::Slot {
 public:
  explicit Slot(CompilePool& pool) : pool_(pool), thread_([this] { work(); }) {}
  ~Slot() { thread_.join(); }

  int pid() {
    const std::lock_guard lock(pid_mutex_);
    return pid_;
  }

  // Ends a running compilation. The worker is not reaped while the lock is held, so the number is still its own.
  void interrupt() {
    const std::lock_guard lock(pid_mutex_);
    if (pid_ > 0) ::kill(pid_, SIGKILL);
  }

 private:
  void work() {
    std::optional<WorkerProcess> worker;
    ensure(worker);
    while (std::unique_ptr<QueuedJob> job = pool_.next_job()) {
      job->promise.set_value(run(worker, *job));
      // In the background of the caller, who has its answer.
      ensure(worker);
    }
    lose(worker);
  }

  void lose(std::optional<WorkerProcess>& worker) {
    {
      const std::lock_guard lock(pid_mutex_);
      pid_ = -1;
    }
    worker.reset();
  }

  // Starts a worker where there is none. Why that failed is kept for the jobs that wait.
  void ensure(std::optional<WorkerProcess>& worker) {
    if (worker && worker->is_alive()) return;
    if (worker && !pool_.is_ending()) note_worker_death(WorkerKind::compiler);
    lose(worker);
    if (pool_.is_ending()) return;
    Result<WorkerProcess> started = WorkerProcess::start(pool_.options_.namespaces);
    if (started) {
      worker.emplace(std::move(*started));
      {
        const std::lock_guard lock(pid_mutex_);
        pid_ = worker->pid();
      }
      pool_.announce(worker->greeting());
      // Who ends the pool says so and then interrupts: one of the two is noticed.
      if (pool_.is_ending()) lose(worker);
    } else {
      start_error_ = started.error();
      pool_.announce(started.error());
    }
  }

  JobResult run(std::optional<WorkerProcess>& worker, const QueuedJob& job) {
    // A compilation is a fork of its worker, and cannot end it: a worker that is lost, idle, starting or at work, was
    // ended by somebody else. That is not the job's fault, so it is tried again with a new one.
    JobResult result{CompileStatus::internal_error, "the compile pool is ending", {}};
    bool crashed = false;
    for (int attempt = 0; attempt < most_attempts && !pool_.is_ending(); ++attempt) {
      ensure(worker);
      if (!worker) {
        result.explanation = to_string(start_error_);
        continue;
      }
      WorkerProcess::Answer answer = worker->run(job.job, job.limits);
      if (answer.worker_lost) {
        if (!pool_.is_ending()) note_worker_death(WorkerKind::compiler);
        lose(worker);
      }
      // Once may be the machine's fault. The second fork decides.
      if (answer.result.status == CompileStatus::compiler_crashed && !crashed) {
        crashed = true;
        result = std::move(answer.result);
        continue;
      }
      if (answer.result.status != CompileStatus::internal_error || !answer.worker_lost) return std::move(answer.result);
      result = std::move(answer.result);
    }
    return result;
  }

  CompilePool& pool_;
  Error start_error_;
  std::mutex pid_mutex_;
  int pid_ = -1;
  std::thread thread_;
};

CompilePool::CompilePool(const PoolOptions& options) : options_(options) {
  const int workers = options.workers > 0 ? options.workers : core_count();
  for (int i = 0; i < workers; ++i) slots_.push_back(std::make_unique<Slot>(*this));
}

CompilePool::~CompilePool() {
  std::deque<std::unique_ptr<QueuedJob>> waiting;
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    waiting.swap(queue_);
  }
  changed_.notify_all();
  for (const std::unique_ptr<QueuedJob>& job : waiting) {
    job->promise.set_value({CompileStatus::internal_error, "the compile pool is ending", {}});
  }
  for (const std::unique_ptr<Slot>& slot : slots_) slot->interrupt();
  slots_.clear();
}

bool CompilePool::is_ending() {
  const std::lock_guard lock(mutex_);
  return ending_;
}

std::future<JobResult> CompilePool::submit(CompilerJob job, const CompileLimits& limits) {
  auto queued = std::make_unique<QueuedJob>(QueuedJob{std::move(job), limits, {}});
  std::future<JobResult> future = queued->promise.get_future();
  {
    const std::lock_guard lock(mutex_);
    KW_CHECK(!ending_);
    queue_.push_back(std::move(queued));
  }
  changed_.notify_all();
  return future;
}

std::unique_ptr<CompilePool::QueuedJob> CompilePool::next_job() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return ending_ || !queue_.empty(); });
  if (ending_) return nullptr;
  std::unique_ptr<QueuedJob> job = std::move(queue_.front());
  queue_.pop_front();
  return job;
}

void CompilePool::announce(const Result<WorkerGreeting>& greeting) {
  {
    const std::lock_guard lock(mutex_);
    if (greeting) {
      facts_ = std::make_unique<Result<PoolFacts>>(
          PoolFacts{greeting->compiler_version, greeting->header_fingerprint,
                    protection_from_bits(static_cast<unsigned>(greeting->protection_bits))});
    } else if (facts_ == nullptr) {
      facts_ = std::make_unique<Result<PoolFacts>>(greeting.error());
    }
  }
  changed_.notify_all();
}

Result<PoolFacts> CompilePool::facts() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return facts_ != nullptr; });
  return *facts_;
}

std::vector<int> CompilePool::worker_pids() {
  std::vector<int> pids;
  for (const std::unique_ptr<Slot>& slot : slots_) {
    if (slot->pid() > 0) pids.push_back(slot->pid());
  }
  return pids;
}

}  // namespace kw
