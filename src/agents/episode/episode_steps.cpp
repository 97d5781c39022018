// The steps of one conversation: from one question, over answers and verdicts, to the next.

#include "agents/episode/episode_engine.h"
#include "agents/episode/library_kernel.h"
#include "agents/episode/running_episode.h"
#include "agents/normal_form/launcher_order.h"
#include "base/log.h"

namespace kw {

// What the store has of it. `unfinished`: it goes on from there.
Result<EpisodeEnd> EpisodeEngine::read_stored(Running& running) {
  Episode& episode = running.episode;
  const std::string identity = episode_identity(episode.request, running.options(), options_.model);
  if (!in_store_.insert(identity).second)
    return Error{"the same episode was asked for twice", "give each its own number", {}};
  running.identity = identity;
  KW_TRY(auto found, options_.store->find(identity));
  if (!found) {
    KW_TRY_VOID(options_.store->begin(identity, episode.request, options_.model));
    return EpisodeEnd::unfinished;
  }
  if (found->given_verdict) take_given(episode, std::move(found->given_verdict));
  for (Turn& turn : found->turns) take_turn(episode, std::move(turn), running.options());
  episode.resumed = static_cast<std::int64_t>(episode.turns.size());
  episode.problem = std::move(found->problem);
  return found->end;
}

// What a step of the store has come to. Where it is not required, an episode that it failed is not stored any more.
Result<void> EpisodeEngine::stored(Running& running, Result<void> result) {
  if (result.ok() || options_.store_required) return result;
  log_event(LogLevel::warn, "conversation_not_stored",
            {{"task", running.episode.request.task->name}, {"reason", to_string(result.error())}});
  in_store_.erase(running.identity);
  running.identity.clear();
  return {};
}

// Goes on where the store says it was. The library's kernel comes first: what a store calls an episode depends on it.
Result<void> EpisodeEngine::begin(Running& running) {
  Episode& episode = running.episode;
  if (!episode.library && asks_library(episode.request)) {
    episode.library = library_kernel(*episode.request.task);
    if (!episode.library->kernel.empty()) {
      judge_library(running);
      return {};
    }
  }
  // A kernel that the user gave has the names that the task has; the agents' own kernels have those that they learned.
  running.asked =
      normal_form(*episode.request.task, episode.request.kernel.empty() ? AskedNames::learned : AskedNames::kept);
  if (options_.store != nullptr) {
    const auto before = read_stored(running);
    if (!before.ok()) KW_TRY_VOID(stored(running, before.error()));
    episode.from_store = before.ok() && *before != EpisodeEnd::unfinished;
    if (running.hooks().on_begin) running.hooks().on_begin(episode);
    if (episode.from_store) return end(running, *before, std::move(episode.problem));
  } else if (running.hooks().on_begin) {
    running.hooks().on_begin(episode);
  }
  const bool starts_with_kernel = !episode.request.kernel.empty() && !episode.request.to_predict;
  if (starts_with_kernel && !episode.given_verdict) {
    if (episode.request.verdict) return take_given_verdict(running, episode.request.verdict);
    judge_kernel(running, episode.request.kernel, 0);
    return {};
  }
  return ask(running);
}

Result<void> EpisodeEngine::take_library_verdict(Running& running, std::shared_ptr<const Verdict> verdict) {
  running.kernels.clear();
  take_library_kernel(running.episode, std::move(running.library_task), std::move(verdict));
  return begin(running);
}

Result<void> EpisodeEngine::take_given_verdict(Running& running, std::shared_ptr<const Verdict> verdict) {
  running.kernels.clear();
  if (!running.identity.empty()) KW_TRY_VOID(stored(running, options_.store->add_given(running.identity, *verdict)));
  take_given(running.episode, std::move(verdict));
  if (running.hooks().on_given) running.hooks().on_given(running.episode);
  return ask(running);
}

// The question of the next turn, or the end.
Result<void> EpisodeEngine::ask(Running& running) {
  Episode& episode = running.episode;
  if (const auto why = end_after(episode, running.options())) return end(running, *why);
  PromptRequest question = next_question(episode, running.asked.task, running.options());
  question.kernel = in_asked_order(running.asked, question.kernel);
  auto prompt = scribe_.prompt_ids(question);
  if (!prompt.ok()) return end(running, EpisodeEnd::refused, to_string(prompt.error()));
  // Who did not answer at all may answer now.
  const bool answered = !episode.turns.empty() && chosen_sample(episode.turns.back()).finish != FinishReason::failed;
  if (running.options().temperature == 0 && answered && episode.turns.back().prompt == *prompt)
    return end(running, EpisodeEnd::stuck);

  Turn& turn = running.turn = Turn();
  turn.index = static_cast<int>(episode.turns.size());
  turn.role = question.role;
  turn.given_turn = question.role == AgentRole::optimizer ? *episode.current : -1;
  turn.prompt = *prompt;
  GenerationRequest request;
  request.prompt = std::move(prompt).value();
  request.samples = running.options().samples;
  request.rule = {running.options().temperature, running.options().top_k, running.options().top_p,
                  turn_seed(running.options().seed, episode.request.number, turn.index)};
  if (turn.index == 0 && episode.request.first_seed) request.rule.seed = *episode.request.first_seed;
  request.max_tokens = tokens_left_for_answer(episode, running.options());
  request.stop_tokens.assign(dialect_.stop_tokens().begin(), dialect_.stop_tokens().end());
  request.adapter = adapter_of_(turn.role);
  if (running.options().constrain && turn.role != AgentRole::tester) {
    running.held_to = expected_parameters(running.asked.task, question.kernel);
    request.constraint = make_answer_constraint(dialect_.masks(), running.held_to);
    request.most_resamples = running.options().most_resamples;
  }
  if (running.hooks().on_token)
    request.on_token = [&running](const TokenEvent& event) {
      running.hooks().on_token(running.episode, running.turn, event);
    };
  auto submitted = answers_.submit(std::move(request));
  if (!submitted.ok()) return end(running, EpisodeEnd::refused, to_string(submitted.error()));
  running.request = *submitted;
  running.turn_began = Clock::now();
  running.cancelled = false;
  asked_.emplace(running.request, running.episode.ticket);
  if (running.hooks().on_question) running.hooks().on_question(episode, turn);
  return {};
}

Result<void> EpisodeEngine::take_answers(Running& running, std::vector<GeneratedSample> samples) {
  Turn& turn = running.turn;
  for (GeneratedSample& said : samples) {
    if (running.hooks().on_said) running.hooks().on_said(running.episode, turn, said);
    TurnSample& sample = turn.samples.emplace_back();
    const bool ended = said.finish == FinishReason::stop_token;
    if (turn.role != AgentRole::tester) {
      read_sample(sample, dialect_.read_answer(said.text, ended, running.options().limits));
      sample.kernel = in_task_order(running.asked, sample.kernel);
    }
    if (said.finish == FinishReason::failed) sample.message = std::move(said.problem);
    statistics_.sampled_tokens += token_count(said.tokens, said.usage);
    sample.usage = said.usage;
    sample.tokens = std::move(said.tokens);
    sample.log_probs = std::move(said.log_probs);
    sample.finish = said.finish;
    sample.weights_version = said.weights_version;
    sample.last_weights_version = said.last_weights_version;
    sample.text = std::move(said.text);
    if (said.constrained) sample.held_to = running.held_to;
    sample.resampled = said.resampled;
  }
  KW_TRY_VOID(predict(running));
  for (std::size_t i = 0; i < turn.samples.size(); ++i) {
    TurnSample& sample = turn.samples[i];
    if (running.hooks().on_answer) running.hooks().on_answer(running.episode, turn, i);
    if (sample.kernel.empty() || sample.skipped) {
      pay_sample(sample, turn.role, running.given(), running.options());
      continue;
    }
    ++running.unjudged;
    judge_kernel(running, sample.kernel, i + 1);
  }
  return close_turn_if_judged(running);
}

Result<void> EpisodeEngine::predict(Running& running) {
  if (!running.hooks().predict_correct) return {};
  std::vector<std::string_view> kernels;
  std::vector<TurnSample*> owners;
  for (TurnSample& sample : running.turn.samples) {
    if (sample.kernel.empty()) continue;
    kernels.push_back(sample.kernel);
    owners.push_back(&sample);
  }
  if (kernels.empty()) return {};
  const std::vector<double> right = running.hooks().predict_correct(*running.episode.request.task, kernels);
  if (right.size() != kernels.size()) return Error{"the Tester did not answer about every kernel", "", {}};
  for (std::size_t i = 0; i < right.size(); ++i) {
    owners[i]->predicted_correct = right[i];
    owners[i]->skipped = right[i] < running.hooks().skip_below;
  }
  return {};
}

Result<void> EpisodeEngine::take_verdict(Running& running, std::size_t place, std::shared_ptr<const Verdict> verdict) {
  TurnSample& sample = running.turn.samples.at(place);
  sample.verdict = std::move(verdict);
  pay_sample(sample, running.turn.role, running.given(), running.options());
  if (running.hooks().on_verdict) running.hooks().on_verdict(running.episode, running.turn, place);
  --running.unjudged;
  return close_turn_if_judged(running);
}

Result<void> EpisodeEngine::close_turn_if_judged(Running& running) {
  if (running.unjudged > 0) return {};
  running.turn.seconds = running.turn_seconds();
  Episode& episode = running.episode;
  take_turn(episode, std::move(running.turn), running.options());
  ++statistics_.turns;
  running.kernels.clear();
  if (!running.identity.empty())
    KW_TRY_VOID(stored(running, options_.store->add_turn(running.identity, episode.turns.back())));
  if (running.hooks().on_turn) running.hooks().on_turn(episode);
  return ask(running);
}

Result<void> EpisodeEngine::end(Running& running, EpisodeEnd why, std::string problem) {
  Episode& episode = running.episode;
  episode.end = why;
  episode.problem = std::move(problem);
  const bool to_store = !running.identity.empty() && !episode.from_store && why != EpisodeEnd::cancelled;
  if (to_store) KW_TRY_VOID(stored(running, options_.store->finish(running.identity, episode)));
  ++statistics_.episodes;
  if (running.hooks().on_end) running.hooks().on_end(episode);
  const std::uint64_t ticket = episode.ticket;
  in_store_.erase(running.identity);
  finished_.push_back(std::move(episode));
  running_.erase(ticket);
  return {};
}

}  // namespace kw
