#include "app/serve/service_parts.h"

namespace kw {

ServiceCounts ServiceParts::counts() const {
  ServiceCounts now;
  if (!complete) return now;
  const JudgeCounts judged = judges->counts();
  now.kernels_waiting = judged.waiting;
  now.kernels_asked = judged.asked;
  now.kernels_judged = judged.judged;
  now.conversations_open = conversations->counts().open;
  now.conversations_ended = conversations->counts().ended;
  now.arms = experiments->arms();
  now.jobs_waiting = static_cast<std::int64_t>(work.waiting());
  for (const std::string& name : sets->names()) {
    const auto set = sets->find(name);
    if (!set) continue;
    const AgentServiceCounts of_set = set->counts();
    now.answers_waiting += static_cast<std::int64_t>(of_set.answers_waiting);
    now.answers_running += static_cast<std::int64_t>(of_set.answers_running);
    now.batch_rows += of_set.rows;
    now.sampled_tokens += of_set.sampled_tokens;
    now.prompt_tokens += of_set.prompt_tokens;
  }
  return now;
}

Json ServiceParts::description() const {
  Json json = {{"version", KW_VERSION}, {"ready", not_ready == nullptr}};
  if (complete) {
    const auto agents = sets->find("");
    json["model"] = agents ? Json{{"name", agents->model().name()},
                                  {"device", agents->model().device()},
                                  {"learned_from", agents->model().learned_from()}}
                           : Json();
    json["models"] = sets->names();
    json["judge"] = judge->description();
    json["workers"] = judge->workers();
  }
  json.update(watch->to_json());
  return json;
}

}  // namespace kw
