#pragma once
// GPU workers, lent one at a time to whoever judges a kernel. Those that were lost are replaced by spares that are
// ready.

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "kernel/gpu/driver.h"
#include "kernel/gpu/turns.h"
#include "kernel/gpu/worker_process.h"

namespace kw {

struct GpuPoolOptions {
  int workers = 2;  // lent at the same time
  int spares = 1;   // beyond that, ready
  // Of inputs for each worker; 0: a tenth of the device's memory, and a quarter of it for all together.
  std::uint64_t resident_bytes = 0;
  // Reading the hardware's counters needs the user's own rights, which a namespace takes: see Confinement.
  bool counters = false;
};

struct GpuPoolCounts {
  std::uint64_t started = 0;
  std::uint64_t lost = 0;
};

class GpuPool {
 public:
  // Waits for the first worker; the error says why there can be none.
  static Result<std::unique_ptr<GpuPool>> start(const GpuPoolOptions& options);
  ~GpuPool();

  class Lease {
   public:
    Lease(GpuPool& pool, std::unique_ptr<GpuWorker> worker) : pool_(&pool), worker_(std::move(worker)) {}
    Lease(Lease&&) = default;
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
      if (worker_ != nullptr) pool_->take_back(std::move(worker_));
    }
    GpuWorker& operator*() { return *worker_; }
    GpuWorker* operator->() { return worker_.get(); }

   private:
    GpuPool* pool_;
    std::unique_ptr<GpuWorker> worker_;
  };

  enum class Wanted {
    any,
    fresh,  // one that no kernel has run in, so that nothing can be the fault of an earlier one
  };
  // Waits for a worker, if possible one that has these inputs. An error when none can be started any more.
  Result<Lease> borrow(Wanted wanted = Wanted::any, std::uint64_t inputs = 0);

  const GpuFacts& facts() const { return facts_; }
  GpuTurns& turns() { return *turns_; }
  GpuPoolCounts counts();

 private:
  explicit GpuPool(const GpuPoolOptions& options) : options_(options) {}
  void keep_ready();
  void add(Result<std::unique_ptr<GpuWorker>> started);  // with the mutex held
  void take_back(std::unique_ptr<GpuWorker> worker);

  GpuPoolOptions options_;
  GpuFacts facts_;
  std::unique_ptr<GpuTurns> turns_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<GpuWorker>> ready_;
  int alive_ = 0;  // ready and lent
  int lent_ = 0;
  int failures_ = 0;  // starts that failed, one after the other
  std::string last_failure_;
  GpuPoolCounts counts_;
  bool ending_ = false;
  std::thread keeper_;  // starts workers: they end with the thread that started them
};

}  // namespace kw
