#include "app/serve/conversation_events.h"

#include "agents/episode/library_kernel.h"
#include "agents/normal_form/normal_form.h"
#include "app/serve/api_json.h"

namespace kw {
namespace {

template <class Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json best_of(const Episode& episode) {
  if (!episode.best) return nullptr;
  const Verdict& verdict = verdict_of(episode, *episode.best);
  return {{"turn", *episode.best},
          {"writer", name_of(writer_of(episode, *episode.best))},
          {"kernel", kernel_of(episode, *episode.best)},
          {"speedup", or_null(verdict.speedup_naive)},
          {"speedup_pytorch", or_null(verdict.speedup_pytorch)},
          {"time_us", or_null(verdict.time_us)}};
}

// What speedups are stated against, and what the library's kernel has come to.
Json baseline_event(const Episode& episode) {
  const Task& task = *episode.request.task;
  const bool known = !task.naive.empty();
  return {{"name", known ? Json(name_of(naive_baseline(episode))) : Json(nullptr)},
          {"writer", known ? Json(name_of(episode.naive_writer)) : Json(nullptr)},
          {"kernel", known ? Json(task.naive) : Json(nullptr)},
          {"verdict", episode.library && episode.library->verdict ? to_json(*episode.library->verdict) : Json(nullptr)},
          {"message", library_text(episode)}};
}

Json answer_event(const Turn& turn, std::size_t index) {
  const TurnSample& sample = turn.samples[index];
  Json strategies = Json::array();
  for (const Strategy strategy : sample.strategies) strategies.push_back(to_string(strategy));
  return {{"turn", turn.index},
          {"sample", index},
          {"role", to_string(turn.role)},
          {"outcome", to_string(sample.outcome)},
          {"message", sample.message},
          {"kernel", sample.kernel},
          {"writer", sample.kernel.empty() ? Json(nullptr) : Json(name_of(KernelWriter::agent))},
          {"said", sample.said},
          {"strategies", std::move(strategies)},
          {"tokens", token_count(sample.tokens, sample.usage)}};
}

Json verdict_event(const Turn& turn, std::size_t index) {
  const TurnSample& sample = turn.samples[index];
  return {{"turn", turn.index},
          {"sample", index},
          {"reward", sample.rewarded ? Json(sample.reward) : Json(nullptr)},
          {"verdict", sample.verdict ? to_json(*sample.verdict) : Json(nullptr)}};
}

}  // namespace

EpisodeHooks events_of(std::shared_ptr<Conversation> conversation) {
  EpisodeHooks hooks;
  hooks.on_begin = [conversation](const Episode& episode) { conversation->add("baseline", baseline_event(episode)); };
  hooks.on_given = [conversation](const Episode& episode) {
    conversation->add("given", {{"kernel", episode.request.kernel},
                                {"writer", name_of(episode.request.kernel_writer)},
                                {"verdict", episode.given_verdict ? to_json(*episode.given_verdict) : Json(nullptr)}});
  };
  hooks.on_question = [conversation](const Episode&, const Turn& turn) {
    conversation->set_state(ConversationState::running);
    conversation->add("question",
                      {{"turn", turn.index}, {"role", to_string(turn.role)}, {"given_turn", turn.given_turn}});
  };
  hooks.on_token = [conversation](const Episode&, const Turn& turn, const TokenEvent& event) {
    if (event.sample == 0 && !event.text.empty())
      conversation->add_passing("text", {{"turn", turn.index}, {"sample", 0}, {"text", std::string(event.text)}});
  };
  hooks.on_answer = [conversation](const Episode&, const Turn& turn, std::size_t sample) {
    conversation->add("answer", answer_event(turn, sample));
  };
  hooks.on_verdict = [conversation](const Episode&, const Turn& turn, std::size_t sample) {
    conversation->add("verdict", verdict_event(turn, sample));
  };
  hooks.on_turn = [conversation](const Episode& episode) {
    const Turn& turn = episode.turns.back();
    conversation->add(
        "turn", {{"turn", turn.index}, {"chosen", turn.chosen}, {"best", best_of(episode)}, {"seconds", turn.seconds}});
  };
  return hooks;
}

Json begin_event(const Task& task, const EpisodeOptions& options, const std::string& kernel) {
  const NormalForm asked = normal_form(task, kernel.empty() ? AskedNames::learned : AskedNames::kept);
  Json not_understood = Json::array();
  if (!asked.not_understood.empty()) not_understood.push_back(asked.not_understood);
  return {{"task", {{"name", task.name}, {"summary", task.summary}, {"pytorch", task.pytorch}}},
          {"turns", options.turns},
          {"samples", options.samples},
          {"seed", options.seed},
          {"temperature", options.temperature},
          {"asked", asked.task.pytorch},
          {"not_understood", std::move(not_understood)}};
}

Json end_event(const Result<Episode>& episode) {
  if (!episode.ok())
    return {{"end", "error"}, {"problem", to_string(episode.error())}, {"best", nullptr}, {"gain", nullptr}};
  Json gain = nullptr;
  if (const auto gained = gain_of(*episode)) gain = {{"from", gained->from}, {"factor", gained->factor}};
  return {{"end", to_string(episode->end)}, {"problem", episode->problem}, {"best", best_of(*episode)},
          {"gain", std::move(gain)},        {"seconds", episode->seconds}, {"tokens", episode->tokens}};
}

}  // namespace kw
