#include "learn/sft/supervised.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>

#include "base/interrupt.h"
#include "learn/sft/lesson_feed.h"
#include "model/decoder/pass_work.h"

namespace kw {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

// Of the steps that say how fast training is. The first ones allocate memory and compile kernels.
constexpr std::int64_t unmeasured_steps = 1;
constexpr std::int64_t least_measured_steps = 1, most_measured_steps = 40;
constexpr double measured_share = 0.03;  // of the minutes, unless the fewest steps take longer

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Of this process since it began, all threads: what a minute was worth on a machine that others use too.
double process_cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

class SupervisedRun {
 public:
  SupervisedRun(Trainer& trainer, const LessonSource& lessons, const Dialect& dialect,
                const std::function<std::int32_t(AgentRole)>& adapter_of, const SupervisedOptions& options,
                Checkpoints& checkpoints, RunLog& log, const SupervisedHooks& hooks)
      : trainer_(trainer),
        adapter_of_(adapter_of),
        options_(options),
        checkpoints_(checkpoints),
        log_(log),
        hooks_(hooks),
        lessons_(lessons),
        dialect_(dialect) {}

  Result<SupervisedSummary> run() {
    KW_TRY_VOID(restore());
    KW_TRY_VOID(decide_steps());
    LessonFeed feed(lessons_, dialect_, position_, options_.producers);
    if (exam_open_) KW_TRY_VOID(evaluate_and_save());
    const auto over = [this] { return now_.steps > 0 && now_.step >= now_.steps; };
    while (!over() && !interrupted()) {
      KW_TRY_VOID(step(feed));
      if (now_.step % options_.log_every == 0 || now_.step == now_.steps) KW_TRY_VOID(report());
      KW_TRY_VOID(evaluate_and_save());
    }
    summary_.interrupted = exam_open_ || !over();
    if (summary_.interrupted && saved_step_ != now_.step) KW_TRY_VOID(save(std::nullopt));
    KW_TRY_VOID(log_.flush());
    summary_.last = now_;
    summary_.lessons = position_;
    summary_.too_long += feed.too_long();
    return std::move(summary_);
  }

 private:
  Result<void> restore() {
    now_.steps = options_.minutes > 0 ? 0 : options_.steps;
    KW_TRY(const auto latest, checkpoints_.latest());
    if (!latest) return {};
    KW_TRY_VOID(trainer_.restore_state((latest->folder / "trainer").string()));
    try {
      const Json& facts = latest->facts;
      now_.step = saved_step_ = latest->step;
      now_.steps = facts.at("steps").get<std::int64_t>();
      position_ = facts.at("next_lesson").get<std::uint64_t>();
      now_.tokens = facts.at("tokens").get<std::int64_t>();
      now_.answer_tokens = facts.at("answer_tokens").get<std::int64_t>();
      now_.seconds = facts.at("seconds").get<double>();
      loss_sum_ = facts.at("loss_sum").get<double>();
      loss_tokens_ = facts.at("loss_tokens").get<std::int64_t>();
      // Checkpoints of older programs lack the following.
      skipped_ = facts.value("skipped_steps", std::int64_t{0});
      exam_open_ = facts.value("exam_open", false);
      now_.loss = facts.value("loss", 0.0);
    } catch (const nlohmann::json::exception& error) {
      return Error{
          std::string("not a checkpoint of supervised training: ") + error.what(), "", {latest->folder.string(), 0, 0}};
    }
    return {};
  }

  Schedule schedule() const {
    Schedule schedule;
    schedule.shape = options_.shape;
    schedule.peak = options_.peak_learning_rate;
    schedule.all_steps = now_.steps;
    schedule.warm_up_steps =
        std::max<std::int64_t>(1, std::llround(options_.warm_up_share * static_cast<double>(now_.steps)));
    schedule.last_share = options_.last_share;
    return schedule;
  }

  // Lessons until the step's tokens are reached, in passes of bounded size.
  Result<std::vector<PackedBatch>> draw(LessonFeed& feed, bool for_real = true) {
    std::vector<PackedBatch> passes;
    std::int64_t drawn = 0;
    while (drawn < options_.batch_tokens) {
      KW_TRY(const Lesson lesson, feed.next());
      if (for_real && hooks_.lesson) hooks_.lesson(lesson);
      const auto length = static_cast<std::int64_t>(lesson.tokens.size());
      if (passes.empty() || passes.back().starts.back() + length > options_.pass_tokens) {
        passes.emplace_back();
        passes.back().starts = {0};
      }
      PackedBatch& batch = passes.back();
      batch.tokens.insert(batch.tokens.end(), lesson.tokens.begin(), lesson.tokens.end());
      for (std::int64_t i = 0; i < length; ++i) batch.scored.push_back(i >= lesson.answer);
      batch.starts.push_back(static_cast<std::int64_t>(batch.tokens.size()));
      batch.adapter.push_back(adapter_of_(role_of(lesson.kind)));
      drawn += length;
      if (for_real) now_.answer_tokens += length - lesson.answer;
    }
    if (!for_real) return passes;
    position_ = feed.position();
    now_.tokens += drawn;
    return passes;
  }

  struct PassedLoss {
    double sum = 0;
    std::int64_t tokens = 0;
  };

  // Forward and backward over a step's lessons; the gradients are the trainer's.
  Result<PassedLoss> pass(const std::vector<PackedBatch>& passes) {
    PassedLoss loss;
    for (const PackedBatch& batch : passes) loss.tokens += std::ranges::count(batch.scored, 1);
    for (const PackedBatch& batch : passes) {
      KW_TRY(const TokenScores scores, trainer_.forward(batch));
      for (const float log_prob : scores.log_prob) loss.sum -= log_prob;
      ScoreGradients gradients;
      gradients.log_prob.assign(scores.log_prob.size(), -1.0f / static_cast<float>(loss.tokens));
      KW_TRY_VOID(trainer_.backward(gradients));
    }
    return loss;
  }

  Result<void> step(LessonFeed& feed) {
    const Clock::time_point start = Clock::now();
    KW_TRY(const std::vector<PackedBatch> passes, draw(feed));
    KW_TRY(const PassedLoss loss, pass(passes));
    loss_sum_ += loss.sum;
    loss_tokens_ += loss.tokens;
    KW_TRY(const StepReport moved, trainer_.step(learning_rate_at(schedule(), now_.step)));
    now_.learning_rate = moved.learning_rate;
    now_.gradient_norm = moved.gradient_norm;
    if (moved.skipped) ++skipped_;
    ++now_.step;
    const double seconds = seconds_since(start);
    now_.seconds += seconds;
    recent_seconds_ += seconds;
    for (const PackedBatch& batch : passes) {
      recent_tokens_ += static_cast<std::int64_t>(batch.tokens.size());
      if (options_.model != nullptr) recent_flops_ += training_flops(*options_.model, batch, options_.train_base);
    }
    return {};
  }

  // Minutes become steps before the first one. The trainer is as it was afterwards, and so are the lessons.
  Result<void> decide_steps() {
    if (options_.minutes <= 0) return {};
    const auto tell = [this] { return hooks_.decided ? hooks_.decided(now_.steps) : Result<void>(); };
    if (now_.steps > 0) return tell();  // it goes on
    const Clock::time_point start = Clock::now();
    LessonFeed feed(lessons_, dialect_, position_, options_.producers);
    double measured = 0;
    std::int64_t steps = -unmeasured_steps;
    const double enough = measured_share * options_.minutes * 60;
    while (steps < most_measured_steps && (steps < least_measured_steps || measured < enough) && !interrupted()) {
      const Clock::time_point began = Clock::now();
      KW_TRY(const std::vector<PackedBatch> passes, draw(feed, false));
      KW_TRY([[maybe_unused]] const PassedLoss loss, pass(passes));
      trainer_.clear_gradients();
      if (++steps > 0) measured += seconds_since(began);
    }
    if (steps < least_measured_steps) return {};  // interrupted: nothing has begun
    now_.seconds += seconds_since(start);
    const double left = options_.minutes * 60 - now_.seconds;
    now_.steps = now_.step + std::max<std::int64_t>(1, std::llround(left * static_cast<double>(steps) / measured));
    return tell();
  }

  Result<void> report() {
    now_.loss = loss_tokens_ > 0 ? loss_sum_ / static_cast<double>(loss_tokens_) : 0;
    now_.tokens_per_s = recent_seconds_ > 0 ? static_cast<double>(recent_tokens_) / recent_seconds_ : 0;
    const double most_flops = options_.peak_flops * recent_seconds_;
    const double mfu = most_flops > 0 ? recent_flops_ / most_flops : 0;
    loss_sum_ = recent_seconds_ = recent_flops_ = 0;
    loss_tokens_ = recent_tokens_ = 0;
    Metrics metrics = {{"sft/loss", now_.loss},
                       {"sft/lr", now_.learning_rate},
                       {"sft/grad_norm", now_.gradient_norm},
                       {"sft/skipped_steps", static_cast<double>(skipped_)},
                       {"sft/tokens", static_cast<double>(now_.tokens)},
                       {"sft/answer_tokens", static_cast<double>(now_.answer_tokens)},
                       {"perf/tokens_per_s", now_.tokens_per_s},
                       {"timing_s/train", now_.seconds},
                       {"timing_s/cpu", process_cpu_seconds()}};
    if (options_.peak_flops > 0) metrics.emplace_back("perf/mfu", mfu);
    KW_TRY_VOID(log_.metrics(now_.step, metrics));
    if (hooks_.progress) hooks_.progress(now_);
    if (!std::isfinite(now_.loss)) return Error{"the loss is not finite any more", "lower the learning rate", {}};
    return {};
  }

  bool evaluation_due() const {
    if (!hooks_.evaluate || options_.evaluations <= 0) return false;
    const auto part = [&](std::int64_t step) {
      return std::floor(options_.evaluations * static_cast<double>(step) / static_cast<double>(now_.steps));
    };
    return now_.step == now_.steps || part(now_.step) > part(now_.step - 1);
  }

  Result<void> evaluate_and_save() {
    const bool due = evaluation_due();
    const bool last = now_.step == now_.steps;
    std::optional<double> score;
    if (due) {
      KW_TRY(Evaluation evaluation, hooks_.evaluate(now_.step));
      // Half an exam says nothing: it is held when the run goes on, with the same weights.
      exam_open_ = interrupted();
      if (exam_open_) return {};
      KW_TRY_VOID(log_.metrics(now_.step, evaluation.metrics));
      score = evaluation.score;
      if (hooks_.evaluated) hooks_.evaluated(now_.step, evaluation);
      summary_.evaluation = std::move(evaluation);
    }
    const bool saves = due || last || (options_.checkpoint_every > 0 && now_.step % options_.checkpoint_every == 0);
    return saves ? save(score) : Result<void>();
  }

  Result<void> save(std::optional<double> score) {
    KW_TRY_VOID(log_.flush());
    const Json facts = {{"kind", "sft"},
                        {"steps", now_.steps},
                        {"next_lesson", position_},
                        {"tokens", now_.tokens},
                        {"answer_tokens", now_.answer_tokens},
                        {"seconds", now_.seconds},
                        {"loss_sum", loss_sum_},
                        {"loss_tokens", loss_tokens_},
                        {"loss", now_.loss},
                        {"skipped_steps", skipped_},
                        {"exam_open", exam_open_}};
    KW_TRY([[maybe_unused]] const Checkpoint saved,
           checkpoints_.save(now_.step, score, facts, [&](const std::filesystem::path& folder) -> Result<void> {
             return trainer_.save_state((folder / "trainer").string());
           }));
    saved_step_ = now_.step;
    return {};
  }

  Trainer& trainer_;
  const std::function<std::int32_t(AgentRole)>& adapter_of_;
  const SupervisedOptions& options_;
  Checkpoints& checkpoints_;
  RunLog& log_;
  const SupervisedHooks& hooks_;
  const LessonSource& lessons_;
  const Dialect& dialect_;

  SupervisedProgress now_;
  SupervisedSummary summary_;
  std::uint64_t position_ = 0;  // next lesson
  double loss_sum_ = 0;
  std::int64_t loss_tokens_ = 0;
  std::int64_t skipped_ = 0;
  double recent_seconds_ = 0, recent_flops_ = 0;
  std::int64_t recent_tokens_ = 0;
  std::int64_t saved_step_ = -1;
  bool exam_open_ = false;  // the exam after this step was interrupted
};

}  // namespace

Result<std::int64_t> resume_step(const Checkpoints& checkpoints) {
  KW_TRY(const auto latest, checkpoints.latest());
  return latest ? latest->step : std::int64_t{-1};
}

Result<SupervisedSummary> train_supervised(Trainer& trainer, const LessonSource& lessons, const Dialect& dialect,
                                           const std::function<std::int32_t(AgentRole)>& adapter_of,
                                           const SupervisedOptions& options, Checkpoints& checkpoints, RunLog& log,
                                           const SupervisedHooks& hooks) {
  if ((options.steps > 0) == (options.minutes > 0)) return Error{"name either steps or minutes", "", {}};
  if (options.batch_tokens < 1 || options.pass_tokens < lessons.longest())
    return Error{"a pass must have room for the longest lesson", "", {}};
  return SupervisedRun(trainer, lessons, dialect, adapter_of, options, checkpoints, log, hooks).run();
}

}  // namespace kw
