#include "agents/episode/episode_engine.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "agents/episode/library_kernel.h"
#include "agents/episode/running_episode.h"
#include "base/check.h"
#include "base/interrupt.h"

namespace kw {
namespace {

// A verdict's tag names the episode and what of it is judged: 0 the given kernel, the last one the library's, else
// sample + 1.
constexpr int sample_bits = 16;
constexpr std::size_t library_place = (std::size_t{1} << sample_bits) - 1;
std::uint64_t judge_tag(std::uint64_t episode, std::size_t place) { return (episode << sample_bits) | place; }

// One episode's trouble keeps no other from what has come for it.
void note(Result<void>& first_problem, Result<void> result) {
  if (first_problem.ok()) first_problem = std::move(result);
}

}  // namespace

Result<std::unique_ptr<EpisodeEngine>> EpisodeEngine::make(AnswerSource& answers, const Dialect& dialect, Judge& judge,
                                                           AdapterOf adapter_of, EngineOptions options,
                                                           EpisodeHooks hooks) {
  KW_TRY_VOID(check(options));
  return std::unique_ptr<EpisodeEngine>(new EpisodeEngine(answers, dialect, &judge, nullptr, std::move(adapter_of),
                                                          std::move(options), std::move(hooks)));
}

Result<std::unique_ptr<EpisodeEngine>> EpisodeEngine::make(AnswerSource& answers, const Dialect& dialect,
                                                           JudgePool& judges, AdapterOf adapter_of,
                                                           EngineOptions options, EpisodeHooks hooks) {
  KW_TRY_VOID(check(options));
  return std::unique_ptr<EpisodeEngine>(new EpisodeEngine(answers, dialect, nullptr, &judges, std::move(adapter_of),
                                                          std::move(options), std::move(hooks)));
}

Result<void> EpisodeEngine::check(const EngineOptions& options) {
  KW_TRY_VOID(check_options(options.episode));
  if (options.in_flight < 1) return Error{"at least one episode must be in flight", "", {}};
  return {};
}

EpisodeEngine::EpisodeEngine(AnswerSource& answers, const Dialect& dialect, Judge* judge, JudgePool* judges,
                             AdapterOf adapter_of, EngineOptions options, EpisodeHooks hooks)
    : answers_(answers),
      dialect_(dialect),
      scribe_(dialect),
      adapter_of_(std::move(adapter_of)),
      options_(std::move(options)),
      manner_(std::make_shared<const Manner>(options_.episode, std::move(hooks))),
      own_judges_(judges != nullptr
                      ? nullptr
                      : std::make_unique<JudgePool>(
                            *judge, JudgePoolOptions{.workers = options_.judge_workers,
                                                     .on_begin = [this] { clock_.begin(OverlapClock::judging); },
                                                     .on_end = [this] { clock_.end(OverlapClock::judging); }})),
      judges_(judges != nullptr ? *judges : *own_judges_) {
  answers_.on_arrival([this] { wake(); });
}

EpisodeEngine::~EpisodeEngine() {
  answers_.on_arrival(nullptr);
  for (const auto& [ticket, running] : running_)
    for (const JudgePool::Ticket kernel : running->kernels) judges_.cancel(kernel);
  if (asked_.empty() && dropped_.empty()) return;
  // The requests' callbacks point here: they must be gone when this is.
  for (const auto& [request, ticket] : asked_) {
    answers_.cancel(request);
    dropped_.insert(request);
  }
  asked_.clear();
  answers_.settle();
  static_cast<void>(take_results());
}

std::uint64_t EpisodeEngine::submit(EpisodeRequest request) { return take_in(std::move(request), manner_); }

Result<std::uint64_t> EpisodeEngine::submit(EpisodeRequest request, EpisodeOptions options, EpisodeHooks hooks) {
  KW_TRY_VOID(check_options(options));
  return take_in(std::move(request), std::make_shared<const Manner>(std::move(options), std::move(hooks)));
}

std::uint64_t EpisodeEngine::take_in(EpisodeRequest request, std::shared_ptr<const Manner> manner) {
  KW_CHECK(request.task != nullptr);
  auto running = std::make_unique<Running>(std::move(manner));
  running->episode.request = std::move(request);
  std::uint64_t ticket = 0;
  {
    const std::lock_guard lock(mutex_);
    ticket = running->episode.ticket = next_ticket_++;
    submitted_.push_back(std::move(running));
  }
  wake();
  return ticket;
}

void EpisodeEngine::cancel(std::uint64_t ticket) {
  {
    const std::lock_guard lock(mutex_);
    cancelled_.push_back(ticket);
  }
  wake();
}

std::vector<Episode> EpisodeEngine::take_finished() { return std::exchange(finished_, {}); }

EngineStatistics EpisodeEngine::statistics() const {
  EngineStatistics statistics = statistics_;
  statistics.seconds = clock_.seconds();
  statistics.judged = judges_.judged();
  return statistics;
}

EngineLoad EpisodeEngine::load() const {
  const std::lock_guard lock(mutex_);
  EngineLoad load{waiting_.size() + submitted_.size(), running_.size(), asked_.size(), 0};
  load.entries = load.waiting + load.running + load.asking + dropped_.size() + in_store_.size() + finished_.size() +
                 cancelled_.size();
  return load;
}

Result<bool> EpisodeEngine::advance(std::chrono::milliseconds patience) {
  KW_TRY_VOID(take_submissions());
  KW_TRY_VOID(take_judged());
  KW_TRY_VOID(admit());
  cancel_late();
  if (!answers_.idle() && !answers_.elsewhere()) {
    clock_.begin(OverlapClock::generating);
    const auto moved = answers_.advance();
    clock_.end(OverlapClock::generating);
    if (!moved.ok()) return moved.error();
  } else {
    KW_TRY_VOID(take_results());  // of what was cancelled, or made by a hook
    KW_TRY_VOID(wait_for_others(patience));
    KW_TRY_VOID(take_judged());
  }
  KW_TRY_VOID(take_results());
  return !running_.empty() || !waiting_.empty() || !answers_.idle();
}

// Nothing is computed here: verdicts and answers come from others, who wake this when they have something.
Result<void> EpisodeEngine::wait_for_others(std::chrono::milliseconds patience) {
  if (!answers_.elsewhere()) {
    if (!running_.empty() && answers_.idle()) judged_.wait(patience);
    return {};
  }
  KW_TRY(const bool came, answers_.advance());
  if (!came && (!running_.empty() || !answers_.idle())) judged_.wait(patience);
  return {};
}

Result<void> EpisodeEngine::take_submissions() {
  std::vector<std::uint64_t> cancelled;
  {
    const std::lock_guard lock(mutex_);
    for (auto& running : submitted_) waiting_.push_back(std::move(running));
    submitted_.clear();
    cancelled.swap(cancelled_);
  }
  return cancelled.empty() ? Result<void>() : cancel_now(cancelled);
}

Result<void> EpisodeEngine::cancel_now(const std::vector<std::uint64_t>& tickets) {
  std::vector<Running*> ending;
  for (const std::uint64_t ticket : tickets) {
    const auto waits = std::ranges::find(waiting_, ticket, [](const auto& each) { return each->episode.ticket; });
    if (waits != waiting_.end()) {
      running_.emplace(ticket, std::move(*waits));
      waiting_.erase(waits);
    }
    const auto found = running_.find(ticket);
    if (found == running_.end() || std::ranges::find(ending, found->second.get()) != ending.end()) continue;
    Running& running = *found->second;
    ending.push_back(&running);
    for (const JudgePool::Ticket kernel : running.kernels) judges_.cancel(kernel);
    if (asked_.erase(running.request) == 0) continue;
    dropped_.insert(running.request);
    answers_.cancel(running.request);
  }
  // The requests' callbacks point to what is about to end.
  answers_.settle();
  Result<void> problem;
  for (Running* running : ending) note(problem, end(*running, EpisodeEnd::cancelled));
  return problem;
}

Result<void> EpisodeEngine::admit() {
  Result<void> problem;
  while (!waiting_.empty() && running_.size() < options_.in_flight) {
    const std::uint64_t ticket = waiting_.front()->episode.ticket;
    Running& running = *running_.emplace(ticket, std::move(waiting_.front())).first->second;
    waiting_.pop_front();
    note(problem, begin(running));
  }
  return problem;
}

Result<void> EpisodeEngine::take_results() {
  Result<void> problem;
  for (GenerationResult& result : answers_.take_finished()) {
    const auto found = asked_.find(result.id);
    if (found != asked_.end()) {
      Running& running = *running_.at(found->second);
      asked_.erase(found);
      note(problem, take_answers(running, std::move(result.samples)));
    } else if (dropped_.erase(result.id) == 0 && options_.on_other_result) {
      options_.on_other_result(std::move(result));
    }
  }
  return problem;
}

void EpisodeEngine::judge_kernel(Running& running, const std::string& kernel, std::size_t place) {
  ++statistics_.kernels;
  const Episode& episode = running.episode;
  auto slot = judged_.slot(judge_tag(episode.ticket, place));
  running.kernels.push_back(judges_.submit_now(episode.request.task, kernel, std::move(slot)));
}

void EpisodeEngine::judge_library(Running& running) {
  ++statistics_.kernels;
  const Episode& episode = running.episode;
  running.library_task = task_with_library(episode.request.task, episode.library->kernel);
  auto slot = judged_.slot(judge_tag(episode.ticket, library_place));
  running.kernels.push_back(judges_.submit_now(running.library_task, episode.library->kernel, std::move(slot)));
}

Result<void> EpisodeEngine::take_judged() {
  Result<void> problem;
  for (VerdictBox::Judged& judged : judged_.take()) {
    const auto found = running_.find(judged.tag >> sample_bits);
    if (found == running_.end()) continue;  // cancelled when it was being judged
    Running& running = *found->second;
    const std::size_t place = judged.tag & ((std::uint64_t{1} << sample_bits) - 1);
    if (place == library_place)
      note(problem, take_library_verdict(running, std::move(judged.verdict)));
    else
      note(problem, place > 0 ? take_verdict(running, place - 1, std::move(judged.verdict))
                              : take_given_verdict(running, std::move(judged.verdict)));
  }
  return problem;
}

// An answer is not worth waiting for when its episode's time is over.
void EpisodeEngine::cancel_late() {
  for (const auto& [request, ticket] : asked_) {
    Running& running = *running_.at(ticket);
    const double budget_s = running.options().episode_s;
    if (budget_s <= 0 || running.cancelled || running.episode.seconds + running.turn_seconds() < budget_s) continue;
    running.cancelled = true;
    answers_.cancel(request);
  }
}

Result<std::vector<Episode>> EpisodeEngine::run(std::vector<EpisodeRequest> requests) {
  std::map<std::uint64_t, std::size_t> places;
  std::vector<Episode> episodes(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    episodes[i].request = requests[i];
    places[submit(std::move(requests[i]))] = i;
  }
  for (bool more = true; more && !interrupted();) {
    KW_TRY(more, advance());
    for (Episode& episode : take_finished())
      if (const auto place = places.find(episode.ticket); place != places.end())
        episodes[place->second] = std::move(episode);
  }
  for (const auto& [ticket, running] : running_)
    if (const auto place = places.find(ticket); place != places.end()) episodes[place->second] = running->episode;
  return episodes;
}

}  // namespace kw
