#include "agents/agent/answer_json.h"

namespace kw {
namespace {

using Json = nlohmann::ordered_json;

Json names_of(const std::vector<Strategy>& strategies) {
  Json json = Json::array();
  for (const Strategy strategy : strategies) json.push_back(to_string(strategy));
  return json;
}

}  // namespace

nlohmann::ordered_json to_json(const Answer& answer) {
  const bool found = answer.outcome == AnswerOutcome::kernel;
  return {{"outcome", to_string(answer.outcome)},
          {"message", answer.message},
          {"kernel", found ? Json(answer.kernel) : Json(nullptr)},
          {"said", answer.said},
          {"claimed", names_of(answer.claimed)},
          {"strategies", names_of(strategies_of(answer.kernel))},
          {"fenced", answer.fenced},
          {"ended", answer.ended},
          {"blocks", answer.blocks}};
}

}  // namespace kw
