#pragma once
// Threads that judge: kernels go in from any thread, verdicts come out as they are ready. All that judges many kernels
// goes through here: batches, conversations, exams, data, measurements.
//
// The same kernel for the same task is judged once, as long as it waits, is being judged, or somebody still holds the
// verdict. A kernel that is being judged cannot be stopped; one that waits can be cancelled.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "kernel/judge/judge.h"

namespace kw {

struct JudgePoolOptions {
  int workers = 0;                                                     // 0: as many as judge_workers() says
  std::size_t most_waiting = std::numeric_limits<std::size_t>::max();  // kernels; twins of one count once
  std::function<void()> on_begin = {};                                 // of each judgement, by the thread that judges
  std::function<void()> on_end = {};
};

// One for each core; twice as many where a GPU judges, because most of them wait for it then; where services judge, as
// many as those can bear.
int judge_workers(const Judge& judge);

class JudgePool {
 public:
  using Ticket = std::uint64_t;
  // Called once, by a thread of the pool, or by submit() where the verdict is known already. It should be short, and
  // must not wait for the pool.
  using Done = std::function<void(std::shared_ptr<const Verdict>)>;

  // The judge must outlive it.
  explicit JudgePool(Judge& judge, JudgePoolOptions options = {});
  // Waits for what is being judged; what waits is dropped, and its `done` is never called.
  ~JudgePool();
  JudgePool(const JudgePool&) = delete;
  JudgePool& operator=(const JudgePool&) = delete;

  // None: there was no room for as long as `patience`. The verdict names the file of the first of equal kernels.
  std::optional<Ticket> submit(std::shared_ptr<const Task> task, std::string kernel, Done done,
                               std::chrono::milliseconds patience = std::chrono::hours(24 * 365),
                               std::string file = "kernel.cu");
  // Neither waits nor is refused: for those who bound by themselves how many kernels they have here, and have other
  // work to do than to wait.
  Ticket submit_now(std::shared_ptr<const Task> task, std::string kernel, Done done, std::string file = "kernel.cu");
  // Waits for room. A future that is never fulfilled (the pool ended) throws std::future_error.
  std::future<std::shared_ptr<const Verdict>> submit(std::shared_ptr<const Task> task, std::string kernel);
  // True: `done` will not be called. False: it was, or is being.
  bool cancel(Ticket ticket);

  // work(0) ... work(count - 1), for what takes several judgements that depend on each other, on the pool's threads,
  // which judge nothing else meanwhile. Returns when all are done; after an interrupt no further one is begun.
  void for_each(std::size_t count, const std::function<void(std::size_t)>& work);

  int workers() const { return static_cast<int>(threads_.size()); }
  std::size_t waiting() const;     // kernels that nobody judges yet
  std::int64_t judged() const;     // kernels that were really judged
  std::int64_t submitted() const;  // kernels that were asked about
  // Kernels that it has an entry for: those in the queue, those whose verdicts somebody holds, and at most as many
  // again.
  std::size_t remembered() const;

 private:
  struct Asker {
    Ticket ticket = 0;
    Done done;
  };
  struct Job {
    std::string key;
    std::shared_ptr<const Task> task;
    std::string kernel, file;
    std::vector<Asker> askers;
    bool begun = false;
  };
  struct Known {
    std::weak_ptr<const Verdict> verdict;
    std::shared_ptr<Job> job;  // while it is being made
  };

  // Takes it in, where the verdict is not known; unlocks where it is, to hand it out.
  Ticket take_in(std::unique_lock<std::mutex>& lock, Job job, Done done);
  void work();
  void judge(std::unique_lock<std::mutex>& lock, const std::shared_ptr<Job>& job);
  void forget_old();

  Judge& judge_;
  JudgePoolOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable work_, room_;
  bool ending_ = false;
  std::deque<std::shared_ptr<Job>> waiting_;
  std::deque<std::function<void()>> chains_;  // parts of for_each
  std::map<std::string, Known> known_;        // by task and kernel
  std::map<Ticket, std::shared_ptr<Job>> jobs_;
  std::size_t forget_at_ = 1024;
  Ticket next_ticket_ = 1;
  std::int64_t judged_ = 0;
  std::int64_t submitted_ = 0;
  std::vector<std::thread> threads_;
};

// Verdicts for one thread that has something else to do and looks for them now and then. It may end before the pool.
class VerdictBox {
 public:
  struct Judged {
    std::uint64_t tag = 0;  // the caller's
    std::shared_ptr<const Verdict> verdict;
  };

  JudgePool::Done slot(std::uint64_t tag);
  // In the order in which they came.
  std::vector<Judged> take();
  // Until there is something to take, somebody wakes it, or the time is over. True: there is something to take.
  bool wait(std::chrono::milliseconds most);
  // From any thread: ends a wait, the present one or the next.
  void wake();

 private:
  struct Contents {
    std::mutex mutex;
    std::condition_variable filled;
    std::vector<Judged> judged;
    bool woken = false;
  };
  std::shared_ptr<Contents> contents_ = std::make_shared<Contents>();
};

}  // namespace kw
