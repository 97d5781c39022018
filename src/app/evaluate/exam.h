#pragma once
// An exam: tasks that training never saw, answers by a model, verdicts by the judge. Every question begins an episode
// (agents/episode/episode_engine.h), of one turn unless told otherwise: the judge works while answers are generated,
// and with temperature 0 the same model gives the same paper. No conversation ends early because it is good enough, so
// that budgets can be compared.

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "agents/agent/dialect.h"
#include "agents/episode/episode.h"
#include "agents/grammar/stream.h"
#include "kernel/judge/judge.h"
#include "model/rollout/rollout.h"

namespace kw {

struct ExamQuestion {
  Task task;
  AgentRole role = AgentRole::generator;
  std::string group;  // what is reported apart: "composition", "novel", "suite"
  std::string family;
  int tier = 0;
  std::string level;   // Generator: what is asked for; may be empty
  std::string kernel;  // Optimizer: the kernel that it is shown, and what the judge said
  std::optional<Verdict> verdict;
};

struct ExamAnswer {
  std::size_t question = 0;
  std::int64_t sample = 0;  // or conversation, where there are several turns
  int turn = 0;
  bool refused = false;            // the question could not be asked: it is longer than the model's context
  Answer answer;                   // outcome, message, kernel and what else was said
  std::optional<Verdict> verdict;  // none when the answer has no kernel
  std::string text;                // as the model said it
  std::int64_t tokens = 0;
  FinishReason finish = FinishReason::length;
  // Tester, where the answer begins with a status: what it predicts, and how likely it thought that status.
  std::optional<VerdictPrediction> prediction;
  double prediction_probability = 0;
};

struct ExamOptions {
  int turns = 1;             // several: the Optimizer goes on with what the judge said
  std::int64_t samples = 1;  // answers to each question; with several turns: conversations
  float temperature = 0;
  std::uint64_t seed = 0;
  std::int64_t max_tokens = 1024;
  bool constrain = true;                                            // as EpisodeOptions has it
  int judge_workers = 0;                                            // 0: as many as judge_workers() says
  std::function<void(std::size_t done, std::size_t all)> progress;  // answers; from the calling thread
};

struct ExamResult {
  // In the order of the questions, then samples, then turns. Interrupted: of questions whose episode has ended, because
  // half a conversation would be compared with whole ones.
  std::vector<ExamAnswer> answers;
  std::vector<Episode> episodes;  // as they were held, in that order; interrupted: unfinished ones too
  double seconds = 0;
  bool interrupted = false;
};

// The source speaks the dialect, and nobody else uses it meanwhile; afterwards it is idle. adapter_of: of the
// decoder, by role. The same kernel for the same task is judged once. A prompt that does not fit into the model's
// context is a failed answer; an error when that is so for all questions of a role.
Result<ExamResult> sit_exam(AnswerSource& source, const Dialect& dialect, Judge& judge,
                            const std::vector<ExamQuestion>& questions,
                            const std::function<std::int32_t(AgentRole)>& adapter_of, const ExamOptions& options);

// Right, and believed: no flag of the judge says that it was got by a trick.
bool counts_as_correct(const Verdict& verdict);

// Counts of what came out, for one group or all.
struct ExamScore {
  std::int64_t answers = 0;
  std::int64_t kernels = 0;  // the answer held a kernel
  std::int64_t compiled = 0;
  std::int64_t correct = 0;
  std::int64_t to_improve = 0;        // Optimizer: answers to questions that show a right kernel
  std::int64_t faster = 0;            // of these: correct, and faster than the kernel that was shown
  std::int64_t to_repair = 0;         // Optimizer: answers to questions that show a broken kernel
  std::int64_t repaired = 0;          // of these: correct
  std::int64_t unsupported = 0;       // of the answers: kernels that could not be checked. They are not right
  std::int64_t unjudged = 0;          // the judge's own fault: no part of `answers`
  double geometric_mean_speedup = 0;  // over naive, of the correct ones with a time
};
// Generator and Optimizer, every turn's answer alike; group "": all.
ExamScore score_of(const std::vector<ExamQuestion>& questions, const ExamResult& result, std::string_view group = "");

// Correct, and faster than the kernel of the question. Measured times: by more than chance; modelled ones: by 2 %.
bool made_faster(const ExamQuestion& question, const Verdict& verdict);

// Generator's questions from a held-out stream of the data module, naive kernels as baselines.
std::vector<ExamQuestion> drawn_questions(DataSplit split, std::uint64_t seed, std::size_t count);
// Optimizer's questions: `improve` correct naive kernels and `repair` mutants that the judge finds wrong; both are
// judged first.
Result<std::vector<ExamQuestion>> optimizer_questions(Judge& judge, DataSplit split, std::uint64_t seed,
                                                      std::size_t improve, std::size_t repair);
// Tester's questions: kernels at all levels, about half of them with a mistake; the verdict is what it should predict.
Result<std::vector<ExamQuestion>> tester_questions(Judge& judge, DataSplit split, std::uint64_t seed,
                                                   std::size_t count);
// Generator's questions: the held-out tasks of the suite.
Result<std::vector<ExamQuestion>> suite_questions(const std::filesystem::path& suite);

}  // namespace kw
