#pragma once
// The service's judges, one for each purpose that a request may name: they share compiler, GPU, secret and the number
// of threads. Those for training and exams come to be when somebody asks for them, which a trainer elsewhere does. And
// GET /v1/judge: what the judge is, with a proof that it has the secret of a run.

#include <array>
#include <memory>
#include <mutex>
#include <string_view>

#include "base/http/http_message.h"
#include "kernel/judge/judge_pool.h"
#include "kernel/judge/judge_session.h"

namespace kw {

struct JudgeCounts {
  std::int64_t waiting = 0, asked = 0, judged = 0;
};

class PurposeJudges {
 public:
  // `everyday`: the pool of the session's own judge, whose purpose is a verdict. Both must outlive it.
  PurposeJudges(JudgeSession& session, JudgePool& everyday) : session_(session), everyday_(everyday) {}

  // Null: there is no such purpose.
  JudgePool* pool_for(std::string_view purpose);
  HttpResponse facts_response(const HttpRequest& request);
  JudgeCounts counts() const;
  // Waits for what is being judged.
  void close();

 private:
  struct Own {
    std::unique_ptr<Judge> judge;
    std::unique_ptr<JudgePool> pool;
  };
  const Judge& judge_for(JudgePurpose purpose);  // the lock is held

  JudgeSession& session_;
  JudgePool& everyday_;
  mutable std::mutex mutex_;
  std::array<Own, judge_purposes> own_;
};

}  // namespace kw
