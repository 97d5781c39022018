#include "app/stages/supervised_examiner.h"

#include <fmt/format.h>

#include <filesystem>

#include "agents/episode/judge_failures.h"
#include "base/file.h"

namespace kw {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

Result<std::unique_ptr<SupervisedExaminer>> SupervisedExaminer::make(const SftArguments& arguments,
                                                                     const LessonPlan& plan, Learner& learner) {
  std::unique_ptr<SupervisedExaminer> examiner(new SupervisedExaminer(arguments, learner));
  KW_TRY(examiner->judge_, JudgeSession::start(arguments.judge));
  if (plan.share[0] > 0)
    examiner->questions_ = drawn_questions(DataSplit::composition, arguments.exam_seed, arguments.exam);
  if (plan.share[1] + plan.share[2] > 0 && arguments.optimizer_exam > 0) {
    const std::size_t improve = plan.share[1] > 0 ? arguments.optimizer_exam : 0;
    const std::size_t repair = plan.share[2] > 0 ? arguments.optimizer_exam : 0;
    KW_TRY(auto more, optimizer_questions(examiner->judge_->judge(), DataSplit::composition, arguments.exam_seed + 1,
                                          improve, repair));
    for (ExamQuestion& question : more) examiner->questions_.push_back(std::move(question));
  }
  // The loss on answers to tasks that training never shows.
  LessonPlan held_out = plan;
  held_out.split = DataSplit::composition;
  held_out.seed = arguments.exam_seed;
  std::ranges::fill(held_out.share, 0.0);
  held_out.share[0] = 1;
  held_out.ramp = 0;
  held_out.generate_first = 0;
  held_out.drill = 0;
  KW_TRY(const LessonStream stream, LessonStream::make(learner.dialect(), nullptr, held_out));
  Scribe scribe(learner.dialect());
  examiner->loss_batch_.starts = {0};
  for (std::uint64_t i = 0; i < 64; ++i) {
    KW_TRY(const auto lesson, stream.at(i, scribe));
    if (!lesson) continue;
    PackedBatch& batch = examiner->loss_batch_;
    batch.tokens.insert(batch.tokens.end(), lesson->tokens.begin(), lesson->tokens.end());
    for (std::size_t at = 0; at < lesson->tokens.size(); ++at)
      batch.scored.push_back(static_cast<std::int64_t>(at) >= lesson->answer);
    batch.starts.push_back(static_cast<std::int64_t>(batch.tokens.size()));
    batch.adapter.push_back(learner.adapter_of(AgentRole::generator));
  }
  return examiner;
}

Result<Evaluation> SupervisedExaminer::examine(std::int64_t step) {
  Evaluation evaluation;
  KW_TRY(const TokenScores scores, learner_.trainer().score(loss_batch_));
  double loss = 0;
  for (const float log_prob : scores.log_prob) loss -= log_prob;
  loss /= static_cast<double>(std::max<std::size_t>(1, scores.log_prob.size()));
  evaluation.metrics = {{"exam/loss", loss}};
  evaluation.score = -loss;
  evaluation.line = fmt::format("held-out loss {:.4f}", loss);
  if (questions_.empty()) return evaluation;
  KW_TRY(Decoder* const decoder, learner_.decoder());
  Rollout rollout(*decoder, &learner_.dialect().tokenizer());
  ExamOptions options;
  options.max_tokens = arguments_.answer_tokens;
  options.constrain = arguments_.constrain;
  options.judge_workers = arguments_.judge.workers;
  KW_TRY(const ExamResult result, sit_exam(
                                      rollout, learner_.dialect(), judge_->judge(), questions_,
                                      [this](AgentRole role) { return learner_.adapter_of(role); }, options));
  if (result.interrupted) return evaluation;
  KW_TRY_VOID(judge_failures(result.episodes).check());
  KW_TRY_VOID(keep(result, step));
  evaluation.score = 0;
  int parts = 0;
  const auto rate = [](std::int64_t part, std::int64_t all) {
    return all > 0 ? static_cast<double>(part) / static_cast<double>(all) : 0;
  };
  const auto add = [&](const std::string& name, std::int64_t part, std::int64_t all, bool counts) {
    if (all == 0) return;
    evaluation.metrics.emplace_back("exam/" + name, rate(part, all));
    evaluation.line += fmt::format(", {} {:.1f} %", name, 100 * rate(part, all));
    if (counts) {
      evaluation.score += rate(part, all);
      ++parts;
    }
  };
  const ExamScore writes = score_for(result, AgentRole::generator);
  add("compiled", writes.compiled, writes.answers, false);
  add("correct", writes.correct, writes.answers, true);
  add("unsupported", writes.unsupported, writes.answers, false);
  const ExamScore improves = score_for(result, AgentRole::optimizer);
  add("faster", improves.faster, improves.to_improve, true);
  add("repaired", improves.repaired, improves.to_repair, true);
  if (parts > 0) evaluation.score /= parts;
  evaluation.line += fmt::format(" ({} answers in {:.0f} s)", result.answers.size(), result.seconds);
  return evaluation;
}

// The paper, for people to read: what was asked, what was said, what the judge thinks of it.
Result<void> SupervisedExaminer::keep(const ExamResult& result, std::int64_t step) const {
  std::string lines;
  for (const ExamAnswer& answer : result.answers) {
    const ExamQuestion& question = questions_[answer.question];
    Json line = {{"role", to_string(question.role)},
                 {"family", question.family},
                 {"signature", compact_signature(question.task)},
                 {"operation", compact_operation(question.task)},
                 {"outcome", to_string(answer.answer.outcome)},
                 {"status", answer.verdict ? Json(to_string(answer.verdict->status)) : Json()},
                 {"summary", answer.verdict ? answer.verdict->summary : answer.answer.message},
                 {"tokens", answer.tokens},
                 {"text", answer.text}};
    if (answer.verdict && answer.verdict->speedup_naive) line["speedup_naive"] = *answer.verdict->speedup_naive;
    if (question.verdict) {
      line["given"] = question.kernel;
      line["given_verdict"] = compact_verdict(*question.verdict);
    }
    lines += line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }
  const fs::path folder = fs::path(arguments_.out) / "exams";
  std::error_code ignored;
  fs::create_directories(folder, ignored);
  return write_file_atomic(folder / fmt::format("step-{:08}.jsonl", step), lines);
}

ExamScore SupervisedExaminer::score_for(const ExamResult& result, AgentRole role) const {
  ExamResult part;
  for (const ExamAnswer& answer : result.answers)
    if (questions_[answer.question].role == role) part.answers.push_back(answer);
  return score_of(questions_, part);
}

}  // namespace kw
