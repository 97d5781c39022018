#pragma once
// POST /v1/judge: one kernel or many, for tasks by name or brought along; verdicts at once or as a stream in the order
// in which they are ready. A client that goes away takes its waiting kernels with it.

#include <memory>

#include "app/serve/task_book.h"
#include "app/serve/work_queue.h"
#include "base/http/http_reply.h"
#include "kernel/judge/judge_pool.h"

namespace kw {

inline constexpr std::size_t max_kernels_of_request = 4096;

class JudgeApi {
 public:
  // `note` hears of every verdict that is given.
  JudgeApi(TaskBook& tasks, JudgePool& pool, WorkQueue& work, std::function<void(const Verdict&)> note)
      : tasks_(tasks), pool_(pool), work_(work), note_(std::move(note)) {}

  void judge(const HttpRequest& request, std::shared_ptr<HttpReply> reply);

 private:
  struct Batch;
  void begin(const std::shared_ptr<Batch>& batch);

  TaskBook& tasks_;
  JudgePool& pool_;
  WorkQueue& work_;
  std::function<void(const Verdict&)> note_;
};

}  // namespace kw
