#include "app/serve/purpose_judges.h"

#include "app/serve/api_json.h"
#include "kernel/judge/judge_facts.h"
#include "kernel/judge/judge_secret.h"

namespace kw {

const Judge& PurposeJudges::judge_for(JudgePurpose purpose) {
  if (purpose == JudgePurpose::verdict) return session_.judge();
  Own& own = own_[static_cast<std::size_t>(purpose)];
  if (own.pool == nullptr) {
    own.judge = session_.judge_for(purpose);
    own.pool = std::make_unique<JudgePool>(*own.judge, JudgePoolOptions{.workers = session_.workers()});
  }
  return *own.judge;
}

JudgePool* PurposeJudges::pool_for(std::string_view name) {
  const auto purpose = purpose_from_name(name);
  if (!purpose) return nullptr;
  if (*purpose == JudgePurpose::verdict) return &everyday_;
  const std::scoped_lock lock(mutex_);
  judge_for(*purpose);
  return own_[static_cast<std::size_t>(*purpose)].pool.get();
}

HttpResponse PurposeJudges::facts_response(const HttpRequest& request) {
  const auto member = [&](const char* name, const char* if_missing) {
    const auto found = request.query.find(name);
    return found == request.query.end() ? std::string(if_missing) : found->second;
  };
  const auto purpose = purpose_from_name(member("purpose", "verdict"));
  if (!purpose) return http_error(400, "'purpose' must be verdict, training or exam", "purpose");
  const std::string challenge = member("challenge", "");
  if (!challenge.empty() && !is_judge_challenge(challenge))
    return http_error(400, "'challenge' must be 64 hexadecimal digits", "challenge");
  const std::scoped_lock lock(mutex_);
  Json facts = to_json(facts_of(judge_for(*purpose), session_.workers(), challenge));
  if (challenge.empty()) facts.erase("proof");
  return json_response(facts);
}

JudgeCounts PurposeJudges::counts() const {
  const std::scoped_lock lock(mutex_);
  JudgeCounts sum;
  const auto add = [&](const JudgePool& pool) {
    sum.waiting += static_cast<std::int64_t>(pool.waiting());
    sum.asked += pool.submitted();
    sum.judged += pool.judged();
  };
  add(everyday_);
  for (const Own& own : own_)
    if (own.pool) add(*own.pool);
  return sum;
}

void PurposeJudges::close() {
  for (Own& own : own_) own.pool.reset();
}

}  // namespace kw
