#include "agents/episode/episode_json.h"

namespace kw {
namespace {

using Json = nlohmann::ordered_json;

Json number(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json names_of(const std::vector<Strategy>& strategies) {
  Json names = Json::array();
  for (const Strategy strategy : strategies) names.push_back(to_string(strategy));
  return names;
}

Json verdict_json(const Verdict& verdict, JsonDetail detail) {
  Json json = to_json(verdict);
  if (detail == JsonDetail::reproducible)
    for (const char* key : {"compile_ms", "judge_ms", "stages_ms", "from_cache"}) json.erase(key);
  return json;
}

// What speedups are stated against; null: nothing that is known before.
Json baseline_json(const Episode& episode) {
  if (episode.request.task->naive.empty()) return nullptr;
  return {{"name", name_of(naive_baseline(episode))},
          {"writer", name_of(episode.naive_writer)},
          {"kernel", episode.request.task->naive}};
}

Json library_json(const LibraryKernel& library, JsonDetail detail) {
  return {{"kernel", library.kernel.empty() ? Json(nullptr) : Json(library.kernel)},
          {"verdict", library.verdict ? verdict_json(*library.verdict, detail) : Json(nullptr)},
          {"problem", library.problem}};
}

Json sample_json(const TurnSample& sample, JsonDetail detail) {
  return {{"outcome", to_string(sample.outcome)},
          {"message", sample.message},
          {"text", sample.text},
          {"kernel", sample.kernel.empty() ? Json(nullptr) : Json(sample.kernel)},
          {"writer", sample.kernel.empty() ? Json(nullptr) : Json(name_of(KernelWriter::agent))},
          {"said", sample.said},
          {"strategies", names_of(sample.strategies)},
          {"predicted_correct", number(sample.predicted_correct)},
          {"skipped", sample.skipped},
          {"verdict", sample.verdict ? verdict_json(*sample.verdict, detail) : Json(nullptr)},
          {"reward", sample.rewarded ? Json(sample.reward) : Json(nullptr)},
          {"finish", to_string(sample.finish)},
          {"constrained", !sample.held_to.empty()},
          {"resampled", sample.resampled},
          {"weights_version", sample.weights_version},
          {"last_weights_version", sample.last_weights_version},
          {"tokens", sample.tokens},
          {"log_probs", sample.log_probs},
          {"token_count", token_count(sample.tokens, sample.usage)}};
}

Json turn_json(const Turn& turn, JsonDetail detail) {
  Json json{{"turn", turn.index},
            {"role", to_string(turn.role)},
            {"given_turn", turn.role == AgentRole::optimizer ? Json(turn.given_turn) : Json(nullptr)},
            {"prompt_tokens", turn.prompt},
            {"chosen", turn.chosen},
            {"samples", Json::array()}};
  if (detail == JsonDetail::full) json["seconds"] = turn.seconds;
  for (const TurnSample& sample : turn.samples) json["samples"].push_back(sample_json(sample, detail));
  return json;
}

Json trajectory_json(const Episode& episode) {
  Json list = Json::array();
  for (const TrajectoryPoint& point : trajectory_of(episode))
    list.push_back({{"turn", point.turn},
                    {"status", to_string(point.status)},
                    {"compiled", point.compiled},
                    {"speedup", number(point.speedup)},
                    {"best_speedup", number(point.best_speedup)}});
  return list;
}

Json failed_json(const Episode& episode) {
  Json list = Json::array();
  for (const FailedAttempt& failed : failed_attempts(episode))
    list.push_back({{"turn", failed.turn},
                    {"sample", failed.sample},
                    {"why", failed.why},
                    {"strategies", names_of(failed.strategies)}});
  return list;
}

}  // namespace

Json to_json(const Episode& episode, JsonDetail detail) {
  Json json{{"task", episode.request.task->name}, {"number", episode.request.number}, {"level", episode.request.level},
            {"end", to_string(episode.end)},      {"problem", episode.problem},       {"tokens", episode.tokens}};
  if (detail == JsonDetail::full) {
    json["seconds"] = episode.seconds;
    json["resumed_turns"] = episode.resumed;
  }
  json["baseline"] = baseline_json(episode);
  if (episode.library) json["library"] = library_json(*episode.library, detail);
  json["given"] = nullptr;
  if (episode.given_verdict)
    json["given"] = {{"kernel", episode.request.kernel},
                     {"writer", name_of(episode.request.kernel_writer)},
                     {"verdict", verdict_json(*episode.given_verdict, detail)}};
  json["turns"] = Json::array();
  for (const Turn& turn : episode.turns) json["turns"].push_back(turn_json(turn, detail));
  json["trajectory"] = trajectory_json(episode);
  json["failed_attempts"] = failed_json(episode);
  json["best"] = nullptr;
  if (episode.best)
    json["best"] = {{"turn", *episode.best},
                    {"writer", name_of(writer_of(episode, *episode.best))},
                    {"kernel", kernel_of(episode, *episode.best)},
                    {"verdict", verdict_json(verdict_of(episode, *episode.best), detail)}};
  return json;
}

}  // namespace kw
