#include "app/stages/reinforce_examiner.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "agents/episode/judge_failures.h"
#include "agents/reward/reward.h"
#include "app/evaluate/evaluation.h"
#include "app/evaluate/rates.h"
#include "base/file.h"

namespace kw {
namespace {

struct ExamRates {
  double conversations = 0;  // that could be judged
  double compiled = 0, correct = 0, unsupported = 0, speedup = 0, reward = 0;
};

// Of the best kernel of each conversation's first `turns`.
ExamRates rates_of_exam(const ExamResult& exam, const RewardShape& worth, int turns) {
  ExamRates rates;
  std::vector<double> speedups;
  for (const Episode& episode : exam.episodes) {
    const Verdict* best = nullptr;
    bool judged = true;
    for (const Turn& turn : episode.turns) {
      if (turn.index >= turns) break;
      const TurnSample& sample = chosen_sample(turn);
      judged = judged && sample.rewarded;
      if (sample.verdict && (best == nullptr || rank_of(*sample.verdict) > rank_of(*best))) best = sample.verdict.get();
    }
    if (!judged) continue;
    ++rates.conversations;
    if (best == nullptr) continue;
    const KernelRank rank = rank_of(*best);
    rates.compiled += rank.compiled;
    rates.correct += rank.right;
    rates.unsupported += facts_of(*best).status == VerdictStatus::unsupported;
    rates.reward += reward_of(*best, worth).total;
    if (rank.right && rank.speedup > 0) speedups.push_back(rank.speedup);
  }
  for (double* sum : {&rates.compiled, &rates.correct, &rates.unsupported, &rates.reward})
    *sum /= std::max(rates.conversations, 1.0);
  rates.speedup = geometric_mean(speedups);
  return rates;
}

}  // namespace

RlExaminer::RlExaminer(RlExamOptions options, Learner& learner, Judge& judge)
    : options_(std::move(options)),
      learner_(learner),
      judge_(judge),
      questions_(drawn_questions(DataSplit::composition, options_.seed, options_.questions)) {}

Result<HeldOutScore> RlExaminer::examine(std::int64_t step) {
  KW_TRY(Decoder* const decoder, learner_.decoder());
  Rollout rollout(*decoder, &learner_.dialect().tokenizer());
  ExamOptions options;
  options.max_tokens = options_.answer_tokens;
  options.constrain = options_.constrain;
  options.samples = options_.samples;
  options.temperature = options_.temperature;
  options.seed = options_.seed;
  options.turns = options_.turns;
  options.judge_workers = options_.judge_workers;
  const auto adapter_of = [this](AgentRole role) { return learner_.adapter_of(role); };
  KW_TRY(const ExamResult exam, sit_exam(rollout, learner_.dialect(), judge_, questions_, adapter_of, options));
  HeldOutScore score;
  if (exam.interrupted) return score;
  KW_TRY_VOID(judge_failures(exam.episodes).check());
  const ExamRates first = rates_of_exam(exam, options_.worth, 1),
                  all = rates_of_exam(exam, options_.worth, std::numeric_limits<int>::max());
  score.score = all.reward;
  score.metrics = {{"exam/reward", first.reward},
                   {"exam/compiled", first.compiled},
                   {"exam/correct", first.correct},
                   {"exam/unsupported", first.unsupported},
                   {"exam/speedup_gmean", first.speedup},
                   {"exam/turns/reward", all.reward},
                   {"exam/turns/correct", all.correct},
                   {"exam/turns/unsupported", all.unsupported},
                   {"exam/turns/speedup_gmean", all.speedup}};
  score.line = fmt::format(
      "{} conversations about {} held-out tasks, one answer: reward {:.3f}, compiled {:.1f} %, correct {:.1f} %, "
      "unsupported {:.1f} %, {:.2f} x naive; {} turns: reward {:.3f}, correct {:.1f} %, unsupported {:.1f} %, {:.2f} x "
      "naive ({:.0f} s)",
      all.conversations, questions_.size(), first.reward, 100 * first.compiled, 100 * first.correct,
      100 * first.unsupported, first.speedup, options_.turns, all.reward, 100 * all.correct, 100 * all.unsupported,
      all.speedup, exam.seconds);
  KW_TRY_VOID(keep(exam, step));
  return score;
}

// Comparisons of these records are paired by task.
Result<void> RlExaminer::keep(const ExamResult& exam, std::int64_t step) const {
  ModelEvaluation evaluation;
  evaluation.settings.model = options_.model;
  evaluation.settings.device = learner_.device();
  evaluation.settings.samples = options_.samples;
  evaluation.settings.temperature = options_.temperature;
  evaluation.settings.turns = options_.turns;
  evaluation.settings.seed = options_.seed;
  evaluation.settings.max_tokens = options_.answer_tokens;
  evaluation.answers = evaluated_answers(questions_, exam, options_.worth);
  evaluation.seconds = exam.seconds;
  std::error_code failed;
  std::filesystem::create_directories(options_.folder, failed);
  if (failed) return Error{"cannot create this folder: " + failed.message(), "", {options_.folder.string(), 0, 0}};
  return write_file_atomic(options_.folder / fmt::format("step-{:08}.json", step), to_json(evaluation).dump(1) + "\n");
}

}  // namespace kw
