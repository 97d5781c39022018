#include "learn/sft/supervised.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <ctime>

#include "base/interrupt.h"
#include "learn/sft/lesson_feed.h"
#include "model/decoder/pass_work.h"
#include "model/distributed/shared_run.h"
#include "model/distributed/slots.h"

namespace kw {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

// Of the steps that say how fast training is. The first ones allocate memory and compile kernels.
constexpr std::int64_t unmeasured_steps = 1;
constexpr std::int64_t least_measured_steps = 1, most_measured_steps = 40;
constexpr std::uint64_t longest_sums = 1 << 16;  // bytes of what a rank's slots came to
constexpr double measured_share = 0.03;          // of the minutes, unless the fewest steps take longer

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
    while (!over()) {
      KW_TRY(const bool stop, any_rank(options_.ranks, interrupted()));
      if (stop) break;
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
    KW_TRY(const auto latest, latest_of_all(options_.ranks, checkpoints_));
    KW_TRY_VOID(decide_slots(latest ? &latest->facts : nullptr));
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

  // A run keeps the slots that it began with: they decide its bits.
  Result<void> decide_slots(const Json* facts) {
    slots_ = options_.slots > 0 ? options_.slots : options_.ranks != nullptr ? usual_slots : 1;
    if (facts != nullptr && facts->is_object()) {
      // Older checkpoints do not name them.
      const Json slots = facts->value("slots", Json(1));
      const std::int64_t began_with = slots.is_number_integer() ? slots.get<std::int64_t>() : 0;
      if (options_.slots > 0 && began_with != options_.slots)
        return Error{
            "this run began with " + std::to_string(began_with) + " slots, not " + std::to_string(options_.slots),
            "",
            {}};
      slots_ = began_with;
    }
    return check_slots(slots_, options_.ranks);
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

  struct Pass {
    std::int64_t slot = 0;
    PackedBatch batch;
  };

  // Lessons until the step's tokens are reached, in passes of bounded size.
  Result<std::vector<Pass>> draw(LessonFeed& feed, bool for_real = true) {
    std::vector<Pass> passes;
    std::int64_t drawn = 0;
    while (drawn < options_.batch_tokens) {
      KW_TRY(const Lesson lesson, feed.next());
      if (for_real && hooks_.lesson && is_first(options_.ranks)) hooks_.lesson(lesson);
      const auto length = static_cast<std::int64_t>(lesson.tokens.size());
      const std::int64_t slot = slot_at(drawn, options_.batch_tokens, slots_);
      if (passes.empty() || passes.back().slot != slot ||
          passes.back().batch.starts.back() + length > options_.pass_tokens) {
        passes.push_back({slot, {}});
        passes.back().batch.starts = {0};
      }
      PackedBatch& batch = passes.back().batch;
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

  // Forward and backward over this rank's slots of a step; the gradients are the trainer's, the loss is that of all.
  // `step_follows`: unless the gradients are thrown away.
  Result<PassedLoss> pass(const std::vector<Pass>& passes, bool step_follows = true) {
    PassedLoss loss;
    for (const Pass& each : passes) loss.tokens += std::ranges::count(each.batch.scored, 1);
    std::vector<std::string> sums;
    const ShareRange own = own_slots(slots_, options_.ranks);
    const Pass* last = nullptr;
    for (const Pass& each : passes)
      if (step_follows && each.slot >= own.begin && each.slot < own.end) last = &each;
    for (std::int64_t slot = own.begin; slot < own.end; ++slot) {
      double sum = 0;
      for (const Pass& each : passes) {
        if (each.slot != slot) continue;
        KW_TRY(const TokenScores scores, trainer_.forward(each.batch));
        for (const float log_prob : scores.log_prob) sum -= log_prob;
        ScoreGradients gradients;
        gradients.log_prob.assign(scores.log_prob.size(), -1.0f / static_cast<float>(loss.tokens));
        if (&each == last) trainer_.last_backward_follows();
        KW_TRY_VOID(trainer_.backward(gradients));
      }
      if (slots_ > 1) KW_TRY_VOID(trainer_.end_slot(slot));
      sums.emplace_back(reinterpret_cast<const char*>(&sum), sizeof sum);
    }
    KW_TRY(sums, share_slots(options_.ranks, slots_, std::move(sums), longest_sums));
    for (const std::string& bytes : sums) {
      double sum = 0;
      if (bytes.size() == sizeof sum) std::memcpy(&sum, bytes.data(), sizeof sum);
      loss.sum += sum;
    }
    return loss;
  }

  Result<void> step(LessonFeed& feed) {
    const Clock::time_point start = Clock::now();
    KW_TRY(const std::vector<Pass> passes, draw(feed));
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
    for (const auto& [slot, batch] : passes) {
      recent_tokens_ += static_cast<std::int64_t>(batch.tokens.size());
      if (options_.model != nullptr) recent_flops_ += training_flops(*options_.model, batch, options_.train_base);
    }
    return {};
  }

  // Minutes become steps before the first one. The trainer is as it was afterwards, and so are the lessons.
  Result<void> decide_steps() {
    if (options_.minutes <= 0) return {};
    const auto tell = [this] {
      return hooks_.decided && is_first(options_.ranks) ? hooks_.decided(now_.steps) : Result<void>();
    };
    if (now_.steps > 0) return tell();  // it goes on
    const Clock::time_point start = Clock::now();
    LessonFeed feed(lessons_, dialect_, position_, options_.producers);
    double measured = 0;
    std::int64_t steps = -unmeasured_steps;
    const double enough = measured_share * options_.minutes * 60;
    for (;;) {
      // Rank 0's clock decides, so that all take the same steps.
      const bool more = steps < most_measured_steps && (steps < least_measured_steps || measured < enough);
      KW_TRY(const double goes_on, first_says(options_.ranks, more && !interrupted() ? 1 : 0));
      if (goes_on == 0) break;
      const Clock::time_point began = Clock::now();
      KW_TRY(const std::vector<Pass> passes, draw(feed, false));
      KW_TRY([[maybe_unused]] const PassedLoss loss, pass(passes, false));
      trainer_.clear_gradients();
      if (++steps > 0) measured += seconds_since(began);
    }
    if (steps < least_measured_steps) return {};  // interrupted: nothing has begun
    now_.seconds += seconds_since(start);
    const double left = options_.minutes * 60 - now_.seconds;
    const double fit = left * static_cast<double>(steps) / measured;
    KW_TRY(const double fit_first, first_says(options_.ranks, fit));
    now_.steps = now_.step + std::max<std::int64_t>(1, std::llround(fit_first));
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
    if (hooks_.progress && is_first(options_.ranks)) hooks_.progress(now_);
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
      // Rank 0 is examined, all have its weights.
      const Communicator::Patience patience(options_.ranks, alone_s);
      std::optional<Evaluation> evaluation;
      if (is_first(options_.ranks)) {
        KW_TRY(evaluation, hooks_.evaluate(now_.step));
      }
      // Half an exam says nothing: it is held when the run goes on, with the same weights.
      KW_TRY(exam_open_, any_rank(options_.ranks, interrupted()));
      if (exam_open_) return {};
      if (evaluation) {
        KW_TRY_VOID(log_.metrics(now_.step, evaluation->metrics));
        score = evaluation->score;
        if (hooks_.evaluated) hooks_.evaluated(now_.step, *evaluation);
        summary_.evaluation = std::move(evaluation);
      }
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
                        {"exam_open", exam_open_},
                        {"slots", slots_}};
    KW_TRY_VOID(save_for_all(options_.ranks, checkpoints_, now_.step, score, facts,
                             [&](const std::filesystem::path& folder) -> Result<void> {
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
  std::int64_t slots_ = 1;
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
