#include "app/evaluate/evaluation.h"

#include <fmt/format.h>

#include <cmath>

#include "agents/reward/reward.h"
#include "base/file.h"

namespace kw {
namespace {

using Json = nlohmann::ordered_json;

constexpr int format_version = 1;
constexpr std::size_t most_bytes = std::size_t{256} << 20;
constexpr std::size_t most_answers = 1'000'000;
constexpr std::size_t most_text = 4096;

std::optional<double> positive(const std::optional<double>& value) {
  return value && std::isfinite(*value) && *value > 0 ? value : std::nullopt;
}

Json optional_json(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json answer_json(const EvaluatedAnswer& answer) {
  return {{"task", answer.task},
          {"kind", name_of(answer.kind)},
          {"group", answer.group},
          {"family", answer.family},
          {"tier", answer.tier},
          {"sample", answer.sample},
          {"turn", answer.turn},
          {"outcome", answer.outcome},
          {"status", answer.status ? Json(to_string(*answer.status)) : Json(nullptr)},
          {"compiled", answer.compiled},
          {"correct", answer.correct},
          {"faster", answer.faster},
          {"time_us", optional_json(answer.time_us)},
          {"speedup", optional_json(answer.speedup)},
          {"speedup_low", optional_json(answer.speedup_low)},
          {"speedup_pytorch", optional_json(answer.speedup_pytorch)},
          {"reward", optional_json(answer.reward)},
          {"tokens", answer.tokens},
          {"fingerprint", answer.fingerprint}};
}

// Members of an object that nobody vouches for: the first that is missing or of another kind is remembered, and what is
// read then does not matter.
class Members {
 public:
  explicit Members(const Json& json) : json_(json) {
    if (!json.is_object()) problem_ = "not a JSON object";
  }

  std::string text(const char* key) {
    const Json* found = find(key);
    if (found == nullptr || !found->is_string()) return wrong(key, "a text"), "";
    const auto& text = found->get_ref<const std::string&>();
    if (text.size() > most_text) return wrong(key, "a short text"), "";
    return text;
  }
  double number(const char* key) {
    const Json* found = find(key);
    if (found == nullptr || !found->is_number()) return wrong(key, "a number"), 0;
    return found->get<double>();
  }
  std::int64_t integer(const char* key, std::int64_t low, std::int64_t high) {
    const Json* found = find(key);
    if (found == nullptr || !found->is_number_integer() || found->get<double>() > 9e18)
      return wrong(key, "a whole number"), 0;
    const auto value = found->get<std::int64_t>();
    if (value < low || value > high) return wrong(key, "in its range"), 0;
    return value;
  }
  bool truth(const char* key) {
    const Json* found = find(key);
    if (found == nullptr || !found->is_boolean()) return wrong(key, "true or false"), false;
    return found->get<bool>();
  }
  std::optional<double> optional_positive(const char* key) {
    const Json* found = find(key);
    if (found != nullptr && found->is_null()) return std::nullopt;
    if (found == nullptr || !found->is_number() || !positive(found->get<double>()))
      return wrong(key, "a positive number or null"), std::nullopt;
    return found->get<double>();
  }
  // Files from before it was recorded have none.
  std::optional<double> optional_number(const char* key) {
    const Json* found = find(key);
    if (found == nullptr || found->is_null()) return std::nullopt;
    if (!found->is_number()) return wrong(key, "a number or null"), std::nullopt;
    return found->get<double>();
  }
  const Json* find(const char* key) {
    if (!json_.is_object()) return nullptr;
    const auto found = json_.find(key);
    return found == json_.end() ? nullptr : &*found;
  }
  void wrong(const char* key, const char* wanted) {
    if (problem_.empty()) problem_ = fmt::format("'{}' is not {}", key, wanted);
  }
  const std::string& problem() const { return problem_; }

 private:
  const Json& json_;
  std::string problem_;
};

Error no_evaluation(const std::string& problem) {
  return Error{"this is no evaluation: " + problem, "make one with kernelwright evaluate --out FILE", {}};
}

Result<EvaluatedAnswer> answer_from_json(const Json& json) {
  Members members(json);
  EvaluatedAnswer answer;
  answer.task = members.text("task");
  const std::string kind = members.text("kind");
  using enum QuestionKind;
  bool known = false;
  for (const QuestionKind each : {generate, improve, repair})
    if (kind == name_of(each)) {
      answer.kind = each;
      known = true;
    }
  if (!known) members.wrong("kind", "generate, improve or repair");
  answer.group = members.text("group");
  answer.family = members.text("family");
  answer.tier = static_cast<int>(members.integer("tier", 0, 100));
  answer.sample = members.integer("sample", 0, 1'000'000);
  answer.turn = static_cast<int>(members.integer("turn", 0, 1000));
  answer.outcome = members.text("outcome");
  const Json* status = members.find("status");
  if (status == nullptr || !status->is_null()) {
    answer.status = verdict_status_from_string(members.text("status"));
    if (!answer.status) members.wrong("status", "a status or null");
  }
  answer.compiled = members.truth("compiled");
  answer.correct = members.truth("correct");
  answer.faster = members.truth("faster");
  answer.time_us = members.optional_positive("time_us");
  answer.speedup = members.optional_positive("speedup");
  answer.speedup_low = members.optional_positive("speedup_low");
  answer.speedup_pytorch = members.optional_positive("speedup_pytorch");
  answer.reward = members.optional_number("reward");
  answer.tokens = members.integer("tokens", 0, std::int64_t{1} << 40);
  answer.fingerprint = members.text("fingerprint");
  if (!members.problem().empty()) return no_evaluation(members.problem());
  return answer;
}

}  // namespace

std::string_view name_of(QuestionKind kind) {
  switch (kind) {
    case QuestionKind::generate:
      return "generate";
    case QuestionKind::improve:
      return "improve";
    case QuestionKind::repair:
      return "repair";
  }
  return "";
}

QuestionKind kind_of(const ExamQuestion& question) {
  if (question.role != AgentRole::optimizer) return QuestionKind::generate;
  return question.verdict && question.verdict->correct ? QuestionKind::improve : QuestionKind::repair;
}

void add_verdict(EvaluatedAnswer& answer, const Verdict& verdict) {
  answer.status = facts_of(verdict).status;  // `unsupported` where a flag says that a part was not checked
  answer.compiled = verdict.compiled;
  answer.correct = counts_as_correct(verdict);
  answer.fingerprint = verdict.fingerprint;
  if (!answer.correct) return;
  answer.time_us = positive(verdict.time_us);
  if (!answer.time_us) return;
  answer.speedup = positive(verdict.speedup_naive);
  answer.speedup_low = verdict.speedup_interval ? positive(verdict.speedup_interval->low) : answer.speedup;
  answer.speedup_pytorch = positive(verdict.speedup_pytorch);
}

std::vector<EvaluatedAnswer> evaluated_answers(const std::vector<ExamQuestion>& questions, const ExamResult& result,
                                               const std::optional<RewardShape>& worth) {
  std::vector<EvaluatedAnswer> answers;
  for (const ExamAnswer& given : result.answers) {
    const ExamQuestion& question = questions.at(given.question);
    if (question.role == AgentRole::tester) continue;
    EvaluatedAnswer answer;
    answer.task = question.task.name;
    answer.kind = kind_of(question);
    answer.group = question.group;
    answer.family = question.family;
    answer.tier = question.tier;
    answer.sample = given.sample;
    answer.turn = given.turn;
    answer.outcome = given.refused ? "refused" : to_string(given.answer.outcome);
    answer.tokens = given.tokens;
    if (given.verdict) {
      add_verdict(answer, *given.verdict);
      answer.faster = made_faster(question, *given.verdict);
    }
    if (worth && answer.judged()) answer.reward = given.verdict ? reward_of(*given.verdict, *worth).total : 0;
    answers.push_back(std::move(answer));
  }
  return answers;
}

Json to_json(const ModelEvaluation& evaluation) {
  const EvaluationSettings& settings = evaluation.settings;
  Json answers = Json::array();
  for (const EvaluatedAnswer& answer : evaluation.answers) answers.push_back(answer_json(answer));
  return {{"format", format_version},
          {"model", settings.model},
          {"weights", settings.weights},
          {"device", settings.device},
          {"judge", settings.judge},
          {"samples", settings.samples},
          {"turns", settings.turns},
          {"temperature", settings.temperature},
          {"seed", std::to_string(settings.seed)},  // 64 bits: many readers of JSON keep 53
          {"max_tokens", settings.max_tokens},
          {"seconds", evaluation.seconds},
          {"interrupted", evaluation.interrupted},
          {"answers", std::move(answers)}};
}

Result<ModelEvaluation> evaluation_from_json(const Json& json) {
  Members members(json);
  if (members.integer("format", 0, 1'000'000) != format_version) members.wrong("format", "1");
  ModelEvaluation evaluation;
  EvaluationSettings& settings = evaluation.settings;
  settings.model = members.text("model");
  settings.weights = members.text("weights");
  settings.device = members.text("device");
  settings.judge = members.text("judge");
  settings.samples = members.integer("samples", 1, 1'000'000);
  settings.turns = static_cast<int>(members.integer("turns", 1, 1000));
  settings.temperature = members.number("temperature");
  const std::string seed = members.text("seed");
  if (seed.empty() || seed.size() > 20 || seed.find_first_not_of("0123456789") != std::string::npos)
    members.wrong("seed", "digits");
  else
    settings.seed = std::strtoull(seed.c_str(), nullptr, 10);
  settings.max_tokens = members.integer("max_tokens", 0, std::int64_t{1} << 40);
  evaluation.seconds = members.number("seconds");
  evaluation.interrupted = members.truth("interrupted");
  const Json* answers = members.find("answers");
  if (answers == nullptr || !answers->is_array() || answers->size() > most_answers)
    members.wrong("answers", "a list of at most a million answers");
  if (!members.problem().empty()) return no_evaluation(members.problem());
  for (const Json& each : *answers) {
    KW_TRY(EvaluatedAnswer answer, answer_from_json(each));
    evaluation.answers.push_back(std::move(answer));
  }
  return evaluation;
}

Result<ModelEvaluation> read_evaluation(const std::filesystem::path& file) {
  KW_TRY(const std::string text, read_file(file, most_bytes));
  const Json json = Json::parse(text, nullptr, false);
  auto evaluation = json.is_discarded() ? no_evaluation("not JSON") : evaluation_from_json(json);
  if (evaluation.ok()) return evaluation;
  Error error = evaluation.error();
  error.where.file = file.string();
  return error;
}

Result<ModelEvaluation> join_evaluations(std::vector<ModelEvaluation> evaluations) {
  if (evaluations.empty()) return Error{"there is nothing to join", "", {}};
  ModelEvaluation joined = std::move(evaluations.front());
  const EvaluationSettings first = joined.settings;
  for (std::size_t i = 1; i < evaluations.size(); ++i) {
    const EvaluationSettings& other = evaluations[i].settings;
    if (other.turns != first.turns || other.temperature != first.temperature || other.seed != first.seed ||
        other.samples != first.samples || other.judge != first.judge)
      return Error{"these evaluations were not made in the same way",
                   "turns, temperature, seed, samples and judge must agree",
                   {}};
    for (EvaluatedAnswer& answer : evaluations[i].answers) {
      answer.sample += static_cast<std::int64_t>(i) * first.samples;
      joined.answers.push_back(std::move(answer));
    }
    joined.seconds += evaluations[i].seconds;
    joined.interrupted = joined.interrupted || evaluations[i].interrupted;
  }
  joined.settings.samples = first.samples * static_cast<std::int64_t>(evaluations.size());
  return joined;
}

ModelEvaluation first_turns(ModelEvaluation evaluation, int turns) {
  std::erase_if(evaluation.answers, [&](const EvaluatedAnswer& answer) { return answer.turn >= turns; });
  evaluation.settings.turns = std::min(evaluation.settings.turns, turns);
  return evaluation;
}

}  // namespace kw
