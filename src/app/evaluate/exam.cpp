#include "app/evaluate/exam.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>

#include "agents/normal_form/launcher_order.h"
#include "agents/reward/facts.h"
#include "app/evaluate/exam_judges.h"
#include "base/interrupt.h"
#include "base/random.h"

namespace kw {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double modelled_gain = 1.02;  // by which a modelled time must be shorter to count as faster

// Ids that a model can sample and the vocabulary does not name (padding rows) say nothing.
std::string text_of(const Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
  std::string text;
  for (const TokenId id : ids)
    if (id >= 0 && static_cast<std::size_t>(id) < tokenizer.size() && !tokenizer.is_special(id))
      text += tokenizer.bytes_of(id);
  return text;
}

// The product of the probabilities of the tokens that the first word is made of.
double first_word_probability(const Tokenizer& tokenizer, const GeneratedSample& sample) {
  double log_prob = 0;
  bool in_word = false;
  for (std::size_t i = 0; i < sample.tokens.size(); ++i) {
    const std::string bytes = text_of(tokenizer, {sample.tokens[i]});
    const bool begins_with_space = bytes.empty() || bytes.find_first_of(" \t\r\n") == 0;
    if (in_word && begins_with_space) break;
    log_prob += static_cast<double>(sample.log_probs[i]);
    const std::size_t word = bytes.find_first_not_of(" \t\r\n");
    in_word = in_word || word != std::string::npos;
    if (in_word && bytes.find_first_of(" \t\r\n", word == std::string::npos ? 0 : word) != std::string::npos) break;
  }
  return std::exp(log_prob);
}

class Sitting {
 public:
  Sitting(Rollout& rollout, const Dialect& dialect, Judge& judge, const std::vector<ExamQuestion>& questions,
          const std::function<std::int32_t(AgentRole)>& adapter_of, const ExamOptions& options)
      : rollout_(rollout),
        dialect_(dialect),
        questions_(questions),
        adapter_of_(adapter_of),
        options_(options),
        all_(questions.size() * static_cast<std::size_t>(std::max<std::int64_t>(options.samples, 0))),
        pool_(judge, options.judge_workers) {}

  // Leaves the rollout idle, whatever happened.
  ~Sitting() {
    for (const auto& [id, question] : open_) rollout_.cancel(id);
    while (!rollout_.idle())
      if (!rollout_.advance().ok()) break;
    (void)rollout_.take_finished();
  }
  Sitting(const Sitting&) = delete;
  Sitting& operator=(const Sitting&) = delete;

  Result<ExamResult> run() {
    const auto start = Clock::now();
    KW_TRY_VOID(ask());
    while (!open_.empty() && !interrupted()) {
      KW_TRY([[maybe_unused]] const bool worked, rollout_.advance());
      for (const GenerationResult& result : rollout_.take_finished()) take(result);
      show_progress();
    }
    while (!interrupted() && !pool_.wait_for_all(std::chrono::milliseconds(100))) show_progress();
    show_progress();
    ExamResult result = collect();
    result.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    return result;
  }

 private:
  struct Pending {
    ExamAnswer answer;
    std::optional<ExamJudges::Ticket> ticket;
  };

  Result<void> ask() {
    if (options_.samples < 1) return Error{"an exam needs at least one sample", "", {}};
    struct Refused {
      std::size_t asked = 0, refused = 0;
      Error first;
    };
    std::map<AgentRole, Refused> by_role;
    Scribe scribe(dialect_);
    for (std::size_t i = 0; i < questions_.size() && !interrupted(); ++i) {
      Refused& role = by_role[questions_[i].role];
      ++role.asked;
      const auto id = ask(scribe, i);
      if (id.ok()) {
        open_.emplace(*id, i);
        continue;
      }
      if (role.refused++ == 0) role.first = id.error();
      for (std::int64_t sample = 0; sample < options_.samples; ++sample) {
        Pending& pending = pending_[{i, sample}];
        pending.answer.question = i;
        pending.answer.sample = sample;
        pending.answer.answer.message = to_string(id.error());
        pending.answer.finish = FinishReason::context;
        ++without_kernel_;
      }
    }
    for (const auto& [role, counts] : by_role)
      if (counts.refused == counts.asked) return counts.first;
    return {};
  }

  // In the words that were learned; the names of a kernel that is shown must stay.
  static NormalForm asked_form(const ExamQuestion& question) {
    return normal_form(question.task, question.kernel.empty() ? Names::learned : Names::kept);
  }

  Result<RequestId> ask(Scribe& scribe, std::size_t index) {
    const ExamQuestion& question = questions_[index];
    PromptRequest prompt;
    prompt.role = question.role;
    const NormalForm asked = asked_form(question);
    prompt.task = &asked.task;
    prompt.level = question.level;
    prompt.kernel = question.kernel;
    if (question.role == AgentRole::optimizer && question.verdict) prompt.verdict = &*question.verdict;
    GenerationRequest request;
    KW_TRY(request.prompt, scribe.prompt_ids(prompt));
    request.samples = options_.samples;
    request.rule.temperature = options_.temperature;
    request.rule.seed = Random(options_.seed, index).next();
    request.max_tokens = options_.max_tokens;
    request.stop_tokens.assign(dialect_.stop_tokens().begin(), dialect_.stop_tokens().end());
    request.adapter = adapter_of_(question.role);
    return rollout_.submit(std::move(request));
  }

  void take(const GenerationResult& result) {
    const auto found = open_.find(result.id);
    if (found == open_.end()) return;
    const std::size_t index = found->second;
    open_.erase(found);
    for (std::size_t sample = 0; sample < result.samples.size(); ++sample)
      take(index, static_cast<std::int64_t>(sample), result.samples[sample]);
  }

  void take(std::size_t index, std::int64_t number, const GeneratedSample& sample) {
    const ExamQuestion& question = questions_[index];
    Pending& pending = pending_[{index, number}];
    ExamAnswer& answer = pending.answer;
    answer.question = index;
    answer.sample = number;
    answer.text = text_of(dialect_.tokenizer(), sample.tokens);
    answer.tokens = static_cast<std::int64_t>(sample.tokens.size());
    answer.finish = sample.finish;
    if (question.role == AgentRole::tester) {
      if (const auto prediction = parse_prediction(answer.text); prediction.ok()) {
        answer.prediction = *prediction;
        answer.prediction_probability = first_word_probability(dialect_.tokenizer(), sample);
      }
    } else {
      answer.answer = dialect_.read_answer(answer.text, sample.finish == FinishReason::stop_token);
      if (answer.answer.outcome == AnswerOutcome::kernel) {
        answer.answer.kernel = in_task_order(asked_form(question), answer.answer.kernel);
        pending.ticket = pool_.submit(question.task, answer.answer.kernel);
      }
    }
    if (!pending.ticket) ++without_kernel_;
  }

  void show_progress() {
    const std::size_t done = without_kernel_ + pool_.done();
    if (done == shown_ || !options_.progress) return;
    shown_ = done;
    options_.progress(done, all_);
  }

  ExamResult collect() {
    ExamResult result;
    for (auto& [place, pending] : pending_) {
      if (pending.ticket) {
        pending.answer.verdict = pool_.verdict(*pending.ticket);
        if (!pending.answer.verdict) continue;
      }
      result.answers.push_back(std::move(pending.answer));
    }
    result.interrupted = result.answers.size() < all_;
    return result;
  }

  Rollout& rollout_;
  const Dialect& dialect_;
  const std::vector<ExamQuestion>& questions_;
  const std::function<std::int32_t(AgentRole)>& adapter_of_;
  const ExamOptions& options_;
  std::size_t all_;
  std::map<RequestId, std::size_t> open_;                            // to the question
  std::map<std::pair<std::size_t, std::int64_t>, Pending> pending_;  // by question and sample
  std::size_t without_kernel_ = 0;
  std::size_t shown_ = 0;
  ExamJudges pool_;
};

}  // namespace

Result<ExamResult> sit_exam(Rollout& rollout, const Dialect& dialect, Judge& judge,
                            const std::vector<ExamQuestion>& questions,
                            const std::function<std::int32_t(AgentRole)>& adapter_of, const ExamOptions& options) {
  return Sitting(rollout, dialect, judge, questions, adapter_of, options).run();
}

bool counts_as_correct(const Verdict& verdict) {
  const RewardFacts facts = facts_of(verdict);
  return facts.correct && facts.exploit.empty();
}

bool made_faster(const ExamQuestion& question, const Verdict& verdict) {
  if (!question.verdict || !question.verdict->correct || !counts_as_correct(verdict)) return false;
  const Verdict& shown = *question.verdict;
  if (!shown.time_us || !verdict.time_us || shown.time_source != verdict.time_source) return false;
  if (!verdict.ptx_fingerprint.empty() && verdict.ptx_fingerprint == shown.ptx_fingerprint) return false;
  if (verdict.time_source != "measured") return *verdict.time_us * modelled_gain < *shown.time_us;
  if (!verdict.speedup_interval) return false;
  // Speedups over naive are measured side by side with it; times of two measurements are not.
  const bool shown_is_naive = question.kernel == question.task.naive;
  return verdict.speedup_interval->low > (shown_is_naive ? 1.0 : shown.speedup_naive.value_or(1.0));
}

ExamScore score_of(const std::vector<ExamQuestion>& questions, const ExamResult& result, std::string_view group) {
  ExamScore score;
  double log_speedups = 0;
  std::int64_t timed = 0;
  for (const ExamAnswer& answer : result.answers) {
    const ExamQuestion& question = questions.at(answer.question);
    if (question.role == AgentRole::tester || (!group.empty() && question.group != group)) continue;
    if (answer.verdict && answer.verdict->status == VerdictStatus::internal_error) {
      ++score.unjudged;
      continue;
    }
    ++score.answers;
    const bool improve = question.role == AgentRole::optimizer && question.verdict && question.verdict->correct;
    const bool repair = question.role == AgentRole::optimizer && !improve;
    score.to_improve += improve;
    score.to_repair += repair;
    if (!answer.verdict) continue;
    const Verdict& verdict = *answer.verdict;
    ++score.kernels;
    score.compiled += verdict.compiled;
    score.unsupported += facts_of(verdict).status == VerdictStatus::unsupported;
    const bool correct = counts_as_correct(verdict);
    score.correct += correct;
    score.faster += improve && made_faster(question, verdict);
    score.repaired += repair && correct;
    if (correct && verdict.time_us && verdict.speedup_naive && *verdict.speedup_naive > 0) {
      log_speedups += std::log(*verdict.speedup_naive);
      ++timed;
    }
  }
  if (timed > 0) score.geometric_mean_speedup = std::exp(log_speedups / static_cast<double>(timed));
  return score;
}

}  // namespace kw
