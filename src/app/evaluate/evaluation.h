#pragma once
// What an evaluation leaves behind: one plain record for each answer, and how they came to be. Everything that is
// reported is computed from the records, so it can be computed again, and two evaluations can be compared.

#include <nlohmann/json.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "agents/reward/shape.h"
#include "app/evaluate/exam.h"

namespace kw {

// What was asked for.
enum class QuestionKind : std::uint8_t { generate, improve, repair };
std::string_view name_of(QuestionKind kind);
QuestionKind kind_of(const ExamQuestion& question);

struct EvaluatedAnswer {
  std::string task;
  QuestionKind kind = QuestionKind::generate;
  std::string group;
  std::string family;
  int tier = 0;
  std::int64_t sample = 0;  // or conversation, where there are several turns
  int turn = 0;
  std::string outcome;                  // of reading the answer: "kernel", "truncated"
  std::optional<VerdictStatus> status;  // none: there was no kernel
  bool compiled = false;
  bool correct = false;
  bool faster = false;                // improve: than the kernel that was shown
  std::optional<double> time_us;      // this and what follows: of correct kernels
  std::optional<double> speedup;      // over naive
  std::optional<double> speedup_low;  // what is claimed: the lower end of a measured one's interval
  std::optional<double> speedup_pytorch;
  std::optional<double> reward;  // what it is worth, where a shape was given
  std::int64_t tokens = 0;
  std::string fingerprint;  // of the kernel

  // What could not be checked is not right; only the judge's own fault says nothing.
  bool judged() const { return status != VerdictStatus::internal_error; }
  bool unsupported() const { return status == VerdictStatus::unsupported; }
};

struct EvaluationSettings {
  std::string model;
  std::string weights;  // fingerprint; may be empty
  std::string device;   // that generated
  std::string judge;    // "emulator, h200"
  std::int64_t samples = 1;
  int turns = 1;
  double temperature = 0;
  std::uint64_t seed = 0;
  std::int64_t max_tokens = 0;
};

struct ModelEvaluation {
  EvaluationSettings settings;
  std::vector<EvaluatedAnswer> answers;
  double seconds = 0;
  bool interrupted = false;
};

// Fills in what the verdict says.
void add_verdict(EvaluatedAnswer& answer, const Verdict& verdict);
// Of Generator and Optimizer, in the result's order. `worth`: what an answer's reward is reckoned by, whoever gave it.
std::vector<EvaluatedAnswer> evaluated_answers(const std::vector<ExamQuestion>& questions, const ExamResult& result,
                                               const std::optional<RewardShape>& worth = std::nullopt);

nlohmann::ordered_json to_json(const ModelEvaluation& evaluation);
// Of anything: an error where it is no evaluation.
Result<ModelEvaluation> evaluation_from_json(const nlohmann::ordered_json& json);
Result<ModelEvaluation> read_evaluation(const std::filesystem::path& file);

// Evaluations of models that differ by chance alone (other seeds of training), as one: attempts are numbered on. An
// error where they were not asked in the same way.
Result<ModelEvaluation> join_evaluations(std::vector<ModelEvaluation> evaluations);
// As if conversations had ended after so many turns.
ModelEvaluation first_turns(ModelEvaluation evaluation, int turns);

}  // namespace kw
