#include "agents/search/kernel_scorer.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/parallel_for.h"

namespace kw {

JudgeScorer::JudgeScorer(JudgeSession& session, std::shared_ptr<const Task> task)
    : session_(session), task_(std::move(task)) {
  const JudgeOptions& own = session.judge().options();
  if (own.gpu != nullptr) {
    JudgeOptions modelling = own;
    modelling.gpu = nullptr;
    modelling_ = std::make_unique<Judge>(session.service(), std::move(modelling));
    JudgeOptions measuring = own;
    measuring.cache = false;           // another measurement is what is wanted
    measuring.emulator_first = false;  // it has judged already
    measuring.explain = false;
    measuring.pytorch = false;
    measuring_ = std::make_unique<Judge>(session.service(), std::move(measuring));
    meters_ = std::make_unique<JudgePool>(*measuring_, JudgePoolOptions{.workers = session.workers()});
  }
  Judge& judge = modelling_ ? *modelling_ : session.judge();
  judges_ =
      std::make_unique<JudgePool>(judge, JudgePoolOptions{.workers = modelling_ ? core_count() : session.workers()});
}

JudgeScorer::~JudgeScorer() { drop_waiting(); }

std::vector<KernelLook> JudgeScorer::look_at(const std::vector<std::string>& kernels, bool model) {
  std::vector<KernelLook> looks(kernels.size());
  parallel_for(kernels.size(), core_count(), [&](std::size_t i) {
    looks[i] = look_at_kernel(session_.service(), session_.judge().options(), *task_, kernels[i], model);
  });
  return looks;
}

void JudgeScorer::judge(const std::string& kernel, Done done) {
  judged_.push_back(judges_->submit_now(task_, kernel, std::move(done)));
}

void JudgeScorer::measure(const std::string& kernel, Done done) {
  KW_CHECK(meters_ != nullptr);
  // The pool gives equal texts one verdict. A comment makes them different texts.
  const std::string text = fmt::format("{}\n// measurement {}\n", kernel, ++measurements_);
  measured_.push_back(meters_->submit_now(task_, text, std::move(done)));
}

void JudgeScorer::drop_waiting() {
  for (const JudgePool::Ticket ticket : judged_) judges_->cancel(ticket);
  for (const JudgePool::Ticket ticket : measured_) meters_->cancel(ticket);
  judged_.clear();
  measured_.clear();
}

}  // namespace kw
