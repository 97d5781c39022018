#pragma once
// What a checkpoint remembers of exams and of the last step, so that a run that is killed at its very end still knows
// what they were like.

#include <nlohmann/json.hpp>

#include "learn/rl/reinforce.h"

namespace kw {

nlohmann::ordered_json to_json(const HeldOutScore& score);
nlohmann::ordered_json to_json(const AnswerRates& rates);
// They throw nlohmann::json::exception where something is missing.
HeldOutScore score_from(const nlohmann::ordered_json& json);
AnswerRates rates_from(const nlohmann::ordered_json& json);

}  // namespace kw
