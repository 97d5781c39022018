#include "agents/episode/episode_engine.h"

#include <utility>

#include <fmt/format.h>

#include "agents/normal_form/launcher_order.h"
#include "base/check.h"
#include "base/interrupt.h"

namespace kw {
namespace {

// A verdict's tag names the episode and what of it is judged: 0 the given kernel, else sample + 1.
constexpr int sample_bits = 16;
std::uint64_t judge_tag(std::uint64_t episode, std::size_t place) { return (episode << sample_bits) | place; }

}  // namespace

struct EpisodeEngine::Running {
  std::string identity;  // in the store; empty without one
  Episode episode;
  NormalForm asked;  // the task as agents read it
  Turn turn;         // the one that is being taken
  RequestId request = 0;
  std::size_t unjudged = 0;
  Clock::time_point turn_began;
  bool cancelled = false;

  double turn_seconds() const { return std::chrono::duration<double>(Clock::now() - turn_began).count(); }
  const Verdict* given() const {
    return turn.role == AgentRole::optimizer ? &verdict_of(episode, turn.given_turn) : nullptr;
  }
};

Result<std::unique_ptr<EpisodeEngine>> EpisodeEngine::make(Rollout& rollout, const Dialect& dialect, Judge& judge,
                                                           AdapterOf adapter_of, EngineOptions options,
                                                           EpisodeHooks hooks) {
  KW_TRY_VOID(check_options(options.episode));
  if (options.in_flight < 1) return Error{"at least one episode must be in flight", "", {}};
  return std::unique_ptr<EpisodeEngine>(
      new EpisodeEngine(rollout, dialect, judge, std::move(adapter_of), std::move(options), std::move(hooks)));
}

EpisodeEngine::EpisodeEngine(Rollout& rollout, const Dialect& dialect, Judge& judge, AdapterOf adapter_of,
                             EngineOptions options, EpisodeHooks hooks)
    : rollout_(rollout),
      dialect_(dialect),
      scribe_(dialect),
      adapter_of_(std::move(adapter_of)),
      options_(std::move(options)),
      hooks_(std::move(hooks)),
      judges_(judge, {.workers = options_.judge_workers,
                      .on_begin = [this] { clock_.begin(OverlapClock::judging); },
                      .on_end = [this] { clock_.end(OverlapClock::judging); }}) {}

EpisodeEngine::~EpisodeEngine() {
  if (asked_.empty()) return;
  // The requests' callbacks point here: they must be gone when this is.
  for (const auto& [request, ticket] : asked_) rollout_.cancel(request);
  static_cast<void>(rollout_.advance());
  rollout_.take_finished();
}

std::uint64_t EpisodeEngine::submit(EpisodeRequest request) {
  KW_CHECK(request.task != nullptr);
  auto running = std::make_unique<Running>();
  running->episode.ticket = next_ticket_++;
  running->episode.request = std::move(request);
  waiting_.push_back(std::move(running));
  return waiting_.back()->episode.ticket;
}

std::vector<Episode> EpisodeEngine::take_finished() { return std::exchange(finished_, {}); }

EngineStatistics EpisodeEngine::statistics() const {
  EngineStatistics statistics = statistics_;
  statistics.seconds = clock_.seconds();
  statistics.kernels = judges_.submitted();
  statistics.judged = judges_.judged();
  return statistics;
}

Result<bool> EpisodeEngine::advance(std::chrono::milliseconds patience) {
  KW_TRY_VOID(take_judged());
  KW_TRY_VOID(admit());
  if (running_.empty()) return false;
  cancel_late();
  if (asked_.empty()) {
    judged_.wait(patience);
    KW_TRY_VOID(take_judged());
    return !running_.empty() || !waiting_.empty();
  }
  clock_.begin(OverlapClock::generating);
  const auto moved = rollout_.advance();
  clock_.end(OverlapClock::generating);
  if (!moved.ok()) return moved.error();
  for (GenerationResult& result : rollout_.take_finished()) {
    const auto found = asked_.find(result.id);
    if (found == asked_.end()) continue;
    Running& running = *running_.at(found->second);
    asked_.erase(found);
    KW_TRY_VOID(take_answers(running, std::move(result.samples)));
  }
  return !running_.empty() || !waiting_.empty();
}

Result<void> EpisodeEngine::admit() {
  while (!waiting_.empty() && running_.size() < options_.in_flight) {
    const std::uint64_t ticket = waiting_.front()->episode.ticket;
    Running& running = *running_.emplace(ticket, std::move(waiting_.front())).first->second;
    waiting_.pop_front();
    KW_TRY_VOID(begin(running));
  }
  return {};
}

// Goes on where the store says it was.
Result<void> EpisodeEngine::begin(Running& running) {
  Episode& episode = running.episode;
  // A kernel that the user gave has the names that the task has; the agents' own kernels have those that they learned.
  running.asked = normal_form(*episode.request.task, episode.request.kernel.empty() ? Names::learned : Names::kept);
  if (options_.store != nullptr) {
    running.identity = episode_identity(episode.request, options_.episode, options_.model);
    if (!in_store_.insert(running.identity).second)
      return Error{"the same episode was asked for twice", "give each its own number", {}};
    KW_TRY(auto stored, options_.store->find(running.identity));
    if (stored) {
      if (stored->given_verdict) take_given(episode, std::move(stored->given_verdict));
      for (Turn& turn : stored->turns) take_turn(episode, std::move(turn), options_.episode);
      episode.resumed = static_cast<std::int64_t>(episode.turns.size());
      if (stored->end != EpisodeEnd::unfinished) {
        episode.from_store = true;
        return end(running, stored->end, stored->problem);
      }
    } else {
      KW_TRY_VOID(options_.store->begin(running.identity, episode.request, options_.model));
    }
  }
  const bool starts_with_kernel = !episode.request.kernel.empty() && !episode.request.to_predict;
  if (starts_with_kernel && !episode.given_verdict) {
    if (episode.request.verdict) return take_given_verdict(running, episode.request.verdict);
    judges_.submit(episode.request.task, episode.request.kernel, judged_.slot(judge_tag(episode.ticket, 0)));
    return {};
  }
  return ask(running);
}

Result<void> EpisodeEngine::take_given_verdict(Running& running, std::shared_ptr<const Verdict> verdict) {
  if (options_.store != nullptr) KW_TRY_VOID(options_.store->add_given(running.identity, *verdict));
  take_given(running.episode, std::move(verdict));
  if (hooks_.on_given) hooks_.on_given(running.episode);
  return ask(running);
}

// The question of the next turn, or the end.
Result<void> EpisodeEngine::ask(Running& running) {
  Episode& episode = running.episode;
  if (const auto why = end_after(episode, options_.episode)) return end(running, *why);
  PromptRequest question = next_question(episode, running.asked.task, options_.episode);
  question.kernel = in_asked_order(running.asked, question.kernel);
  auto prompt = scribe_.prompt_ids(question);
  if (!prompt.ok()) return end(running, EpisodeEnd::refused, to_string(prompt.error()));
  if (options_.episode.temperature == 0 && !episode.turns.empty() && episode.turns.back().prompt == *prompt)
    return end(running, EpisodeEnd::stuck);

  Turn& turn = running.turn = Turn();
  turn.index = static_cast<int>(episode.turns.size());
  turn.role = question.role;
  turn.given_turn = question.role == AgentRole::optimizer ? *episode.current : -1;
  turn.prompt = *prompt;
  GenerationRequest request;
  request.prompt = std::move(prompt).value();
  request.samples = options_.episode.samples;
  request.rule = {options_.episode.temperature, options_.episode.top_k, options_.episode.top_p,
                  turn_seed(options_.episode.seed, episode.request.number, turn.index)};
  if (turn.index == 0 && episode.request.first_seed) request.rule.seed = *episode.request.first_seed;
  request.max_tokens = tokens_left_for_answer(episode, options_.episode);
  request.stop_tokens.assign(dialect_.stop_tokens().begin(), dialect_.stop_tokens().end());
  request.adapter = adapter_of_(turn.role);
  if (hooks_.on_token)
    request.on_token = [this, &running](const TokenEvent& event) {
      hooks_.on_token(running.episode, running.turn, event);
    };
  auto submitted = rollout_.submit(std::move(request));
  if (!submitted.ok()) return end(running, EpisodeEnd::refused, to_string(submitted.error()));
  running.request = *submitted;
  running.turn_began = Clock::now();
  running.cancelled = false;
  asked_.emplace(running.request, running.episode.ticket);
  if (hooks_.on_question) hooks_.on_question(episode, turn);
  return {};
}

Result<void> EpisodeEngine::take_answers(Running& running, std::vector<GeneratedSample> samples) {
  Turn& turn = running.turn;
  for (GeneratedSample& said : samples) {
    if (hooks_.on_said) hooks_.on_said(running.episode, turn, said);
    TurnSample& sample = turn.samples.emplace_back();
    const bool ended = said.finish == FinishReason::stop_token;
    if (turn.role != AgentRole::tester) {
      read_sample(sample, dialect_.read_answer(said.text, ended, options_.episode.limits));
      sample.kernel = in_task_order(running.asked, sample.kernel);
    }
    statistics_.sampled_tokens += static_cast<std::int64_t>(said.tokens.size());
    sample.tokens = std::move(said.tokens);
    sample.log_probs = std::move(said.log_probs);
    sample.finish = said.finish;
    sample.weights_version = said.weights_version;
    sample.last_weights_version = said.last_weights_version;
    sample.text = std::move(said.text);
  }
  KW_TRY_VOID(predict(running));
  for (std::size_t i = 0; i < turn.samples.size(); ++i) {
    TurnSample& sample = turn.samples[i];
    if (hooks_.on_answer) hooks_.on_answer(running.episode, turn, i);
    if (sample.kernel.empty() || sample.skipped) {
      pay_sample(sample, turn.role, running.given(), options_.episode);
      continue;
    }
    ++running.unjudged;
    judges_.submit(running.episode.request.task, sample.kernel, judged_.slot(judge_tag(running.episode.ticket, i + 1)));
  }
  return close_turn_if_judged(running);
}

Result<void> EpisodeEngine::predict(Running& running) {
  if (!hooks_.predict_correct) return {};
  std::vector<std::string_view> kernels;
  std::vector<TurnSample*> owners;
  for (TurnSample& sample : running.turn.samples) {
    if (sample.kernel.empty()) continue;
    kernels.push_back(sample.kernel);
    owners.push_back(&sample);
  }
  if (kernels.empty()) return {};
  const std::vector<double> right = hooks_.predict_correct(*running.episode.request.task, kernels);
  if (right.size() != kernels.size()) return Error{"the Tester did not answer about every kernel", "", {}};
  for (std::size_t i = 0; i < right.size(); ++i) {
    owners[i]->predicted_correct = right[i];
    owners[i]->skipped = right[i] < hooks_.skip_below;
  }
  return {};
}

Result<void> EpisodeEngine::take_judged() {
  for (VerdictBox::Judged& judged : judged_.take()) {
    const auto found = running_.find(judged.tag >> sample_bits);
    KW_CHECK(found != running_.end());
    Running& running = *found->second;
    const std::size_t place = judged.tag & ((std::uint64_t{1} << sample_bits) - 1);
    if (place > 0) {
      KW_TRY_VOID(take_verdict(running, place - 1, std::move(judged.verdict)));
      continue;
    }
    KW_TRY_VOID(take_given_verdict(running, std::move(judged.verdict)));
  }
  return {};
}

Result<void> EpisodeEngine::take_verdict(Running& running, std::size_t place, std::shared_ptr<const Verdict> verdict) {
  TurnSample& sample = running.turn.samples.at(place);
  sample.verdict = std::move(verdict);
  pay_sample(sample, running.turn.role, running.given(), options_.episode);
  if (hooks_.on_verdict) hooks_.on_verdict(running.episode, running.turn, place);
  --running.unjudged;
  return close_turn_if_judged(running);
}

Result<void> EpisodeEngine::close_turn_if_judged(Running& running) {
  if (running.unjudged > 0) return {};
  running.turn.seconds = running.turn_seconds();
  Episode& episode = running.episode;
  take_turn(episode, std::move(running.turn), options_.episode);
  ++statistics_.turns;
  if (options_.store != nullptr) KW_TRY_VOID(options_.store->add_turn(running.identity, episode.turns.back()));
  if (hooks_.on_turn) hooks_.on_turn(episode);
  return ask(running);
}

Result<void> EpisodeEngine::end(Running& running, EpisodeEnd why, std::string problem) {
  Episode& episode = running.episode;
  episode.end = why;
  episode.problem = std::move(problem);
  if (options_.store != nullptr && !episode.from_store) KW_TRY_VOID(options_.store->finish(running.identity, episode));
  ++statistics_.episodes;
  if (hooks_.on_end) hooks_.on_end(episode);
  const std::uint64_t ticket = episode.ticket;
  in_store_.erase(running.identity);
  finished_.push_back(std::move(episode));
  running_.erase(ticket);
  return {};
}

// An answer is not worth waiting for when its episode's time is over.
void EpisodeEngine::cancel_late() {
  if (options_.episode.episode_s <= 0) return;
  for (const auto& [request, ticket] : asked_) {
    Running& running = *running_.at(ticket);
    if (running.cancelled || running.episode.seconds + running.turn_seconds() < options_.episode.episode_s) continue;
    running.cancelled = true;
    rollout_.cancel(request);
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
