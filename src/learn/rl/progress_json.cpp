#include "learn/rl/progress_json.h"

namespace kw {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

Json to_json(const HeldOutScore& score) {
  Json metrics = Json::object();
  for (const auto& [name, value] : score.metrics) metrics[name] = value;
  return {{"score", score.score}, {"metrics", metrics}, {"line", score.line}};
}

HeldOutScore score_from(const Json& json) {
  HeldOutScore score;
  score.score = json.at("score").get<double>();
  score.line = json.at("line").get<std::string>();
  for (const auto& [name, value] : json.at("metrics").items()) score.metrics.emplace_back(name, value.get<double>());
  return score;
}

Json to_json(const AnswerRates& rates) {
  return {{"answers", rates.answers},
          {"reward", rates.reward},
          {"compile_rate", rates.compile_rate},
          {"pass_rate", rates.pass_rate},
          {"speedup_median", rates.speedup_median}};
}

AnswerRates rates_from(const Json& json) {
  AnswerRates rates;
  rates.answers = json.at("answers").get<std::int64_t>();
  rates.reward = json.at("reward").get<double>();
  rates.compile_rate = json.at("compile_rate").get<double>();
  rates.pass_rate = json.at("pass_rate").get<double>();
  rates.speedup_median = json.at("speedup_median").get<double>();
  return rates;
}

}  // namespace kw
