#include "app/stages/gather_run.h"

#include <fmt/format.h>

#include "agents/episode/agent_model.h"
#include "agents/episode/episode_engine.h"
#include "agents/grammar/stream.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "learn/sft/conversation_lessons.h"

namespace kw {

using Json = nlohmann::ordered_json;

Result<Json> gather(const GatherArguments& arguments) {
  AgentModelOptions model_options;
  model_options.device = arguments.device;
  model_options.threads = arguments.threads;
  KW_TRY(const auto model, AgentModel::open(arguments.model, model_options));
  KW_TRY(const auto store, EpisodeStore::open(arguments.store));
  KW_TRY(const auto judge, JudgeSession::start(arguments.judge));

  EngineOptions options;
  KW_TRY(options.episode, episode_options());
  options.episode.seed = arguments.seed;
  options.episode.turns = arguments.turns;
  options.episode.samples = arguments.samples;
  options.episode.temperature = arguments.temperature;
  options.episode.answer_tokens = arguments.answer_tokens;
  options.episode.constrain = arguments.constrain;
  options.judge_workers = arguments.judge.workers;
  options.store = store.get();
  options.model = model->fingerprint();

  StreamOptions stream_options;
  stream_options.seed = arguments.seed;
  stream_options.naive_too = true;
  stream_options.families = arguments.families;
  const ExampleStream stream(stream_options);
  std::vector<EpisodeRequest> requests;
  for (std::uint64_t i = 0; i < arguments.tasks; ++i) {
    EpisodeRequest request;
    request.number = arguments.first + i;
    request.task = std::make_shared<const Task>(stream.task_at(arguments.first + i).task);
    requests.push_back(std::move(request));
  }
  Progress progress("conversations", arguments.tasks);
  std::int64_t answers = 0, good = 0;
  EpisodeHooks hooks;
  hooks.on_turn = [&](const Episode& episode) {
    const Turn& turn = episode.turns.back();
    const Verdict* given = turn.given_turn >= 0 ? &verdict_of(episode, turn.given_turn) : nullptr;
    for (const TurnSample& sample : turn.samples) {
      ++answers;
      good += worked(turn, sample, given);
    }
    if (turn.index + 1 == arguments.turns) progress.advance(1, fmt::format("{} of {} answers worked", good, answers));
  };
  KW_TRY(const auto source, model->make_answers());
  KW_TRY(const auto engine, EpisodeEngine::make(
                                *source, model->dialect(), judge->judge(),
                                [&](AgentRole role) { return model->adapter_of(role); }, options, hooks));
  KW_TRY(const std::vector<Episode> episodes, engine->run(std::move(requests)));
  progress.finish();
  // Of all conversations, also those that were held before an interruption.
  answers = good = 0;
  std::int64_t unanswered = 0;
  std::string problem;
  for (const Episode& episode : episodes)
    for (const Turn& turn : episode.turns) {
      const Verdict* given = turn.given_turn >= 0 ? &verdict_of(episode, turn.given_turn) : nullptr;
      for (const TurnSample& sample : turn.samples) {
        ++answers;
        good += worked(turn, sample, given);
        if (sample.finish != FinishReason::failed) continue;
        ++unanswered;
        problem = sample.message;
      }
    }
  if (answers > 0 && unanswered == answers) return Error{"none of the questions was answered: " + problem, "", {}};
  Json result = {
      {"store", arguments.store}, {"conversations", episodes.size()}, {"answers", answers}, {"worked", good}};
  if (unanswered > 0) result["unanswered"] = unanswered;
  result["interrupted"] = interrupted();
  return result;
}

}  // namespace kw
