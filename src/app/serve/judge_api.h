#pragma once
// POST /v1/judge: one kernel or many, or answers of a model that hold one, for tasks by name or brought along;
// verdicts, and rewards where they are asked for, at once or as a stream in the order in which they are ready. A client
// that goes away takes its waiting kernels with it.

#include <memory>

#include "app/serve/purpose_judges.h"
#include "app/serve/task_book.h"
#include "app/serve/work_queue.h"
#include "base/http/http_reply.h"
#include "kernel/judge/judge_pool.h"

namespace kw {

inline constexpr std::size_t max_kernels_of_request = 4096;

class JudgeApi {
 public:
  // `most_waiting`: kernels of all requests; what is beyond is refused. `note` hears of every verdict that is given.
  JudgeApi(TaskBook& tasks, PurposeJudges& judges, WorkQueue& work, std::size_t most_waiting,
           std::function<void(const Verdict&)> note)
      : tasks_(tasks), judges_(judges), work_(work), most_waiting_(most_waiting), note_(std::move(note)) {}

  void judge(const HttpRequest& request, std::shared_ptr<HttpReply> reply);

 private:
  struct Batch;
  void begin(const std::shared_ptr<Batch>& batch);

  TaskBook& tasks_;
  PurposeJudges& judges_;
  WorkQueue& work_;
  const std::size_t most_waiting_;
  std::function<void(const Verdict&)> note_;
};

}  // namespace kw
