#include "learn/rl/reinforce.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <fmt/format.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/interrupt.h"
#include "base/random.h"
#include "learn/rl/ahead_checkpoint.h"
#include "learn/rl/progress_json.h"
#include "model/decoder/schedule.h"
#include "model/distributed/shared_run.h"
#include "model/distributed/slots.h"

namespace kw {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

class ReinforceRun {
 public:
  ReinforceRun(const ReinforceModels& models, Judge& judge, const TaskPool& pool, Curriculum curriculum,
               const ReinforceOptions& options, Checkpoints& checkpoints, RunLog& log, const ReinforceHooks& hooks)
      : models_(models),
        judge_(judge),
        pool_(pool),
        options_(options),
        checkpoints_(checkpoints),
        log_(log),
        hooks_(hooks),
        curriculum_(std::move(curriculum)),
        guard_(options.guard),
        kl_(options.kl) {}

  Result<ReinforceSummary> run() {
    KW_TRY(const bool resumed, restore());
    if (!resumed) {
      if (options_.evaluations > 0) {
        KW_TRY(summary_.before, evaluate());
      }
      KW_TRY_VOID(look_for_interrupt());
      if (!stop_) KW_TRY_VOID(save(summary_.before));
    }
    if (options_.ahead > 0 && !over() && summary_.stopped.empty() && !stop_) KW_TRY_VOID(go_ahead());
    if (exam_open_) KW_TRY_VOID(evaluate_and_save());
    while (!over() && summary_.stopped.empty()) {
      KW_TRY_VOID(look_for_interrupt());
      if (stop_) break;
      KW_TRY(const bool whole, step());
      if (!whole) break;
      KW_TRY_VOID(evaluate_and_save());
    }
    KW_TRY_VOID(look_for_interrupt());
    summary_.interrupted = exam_open_ || (stop_ && !over() && summary_.stopped.empty());
    const bool begun = now_.step > 0 || saved_step_ == 0;  // else the first exam is still to be held
    if (summary_.interrupted && begun && saved_step_ != now_.step) KW_TRY_VOID(save(std::nullopt));
    KW_TRY_VOID(log_.flush());
    if (ahead_ && !summary_.interrupted) forget_steps_ahead();
    summary_.last = now_;
    return std::move(summary_);
  }

 private:
  // Who is interrupted stops all ranks, at the same place.
  Result<void> look_for_interrupt() {
    KW_TRY(stop_, any_rank(options_.ranks, stop_ || interrupted()));
    return {};
  }

  // A run keeps the slots that it began with: they decide its bits.
  Result<void> decide_slots(const Json* facts) {
    slots_ = options_.slots > 0 ? options_.slots : options_.ranks != nullptr ? usual_slots : 1;
    if (facts != nullptr) {
      const Json slots = facts->value("slots", Json(1));  // checkpoints of older programs lack them
      const std::int64_t began_with = slots.is_number_integer() ? slots.get<std::int64_t>() : 0;
      if (options_.slots > 0 && began_with != options_.slots)
        return Error{fmt::format("this run began with {} slots, not {}", began_with, options_.slots), "", {}};
      slots_ = began_with;
    }
    return check_slots(slots_, options_.ranks);
  }

  bool over() const {
    if (options_.minutes <= 0) return now_.step >= options_.steps;
    // One more step when at least half of it fits.
    const double each = now_.step > 0 ? now_.seconds / static_cast<double>(now_.step) : 0;
    return now_.seconds + each / 2 > options_.minutes * 60;
  }

  Result<bool> restore() {
    now_.steps = options_.minutes > 0 ? 0 : options_.steps;
    KW_TRY(const auto latest, latest_of_all(options_.ranks, checkpoints_));
    if (!latest) KW_TRY_VOID(decide_slots(nullptr));
    if (!latest) return false;
    const Json& facts = latest->facts;
    const auto broken = [&](const std::string& what) { return Error{what, "", {latest->folder.string(), 0, 0}}; };
    if (facts.value("kind", "") != "rl") return broken("not a checkpoint of reinforcement learning");
    if (facts.value("start", "") != options_.start)
      return Error{"this run started from other weights", "name the model that it started from, or another folder", {}};
    KW_TRY_VOID(decide_slots(&facts));
    KW_TRY_VOID(models_.policy.trainer().restore_state((latest->folder / "trainer").string()));
    if (models_.critic != nullptr) KW_TRY_VOID(models_.critic->restore_state((latest->folder / "critic").string()));
    KW_TRY(const std::string curriculum, read_file(latest->folder / "curriculum.json"));
    KW_TRY_VOID(curriculum_.restore(curriculum));
    try {
      now_.step = saved_step_ = latest->step;
      now_.seconds = facts.at("seconds").get<double>();
      next_episode_ = facts.at("next_episode").get<std::uint64_t>();
      history_ = facts.at("history").get<std::string>();
      evaluations_ = facts.at("evaluations").get<std::int64_t>();
      kl_.coefficient = facts.at("kl_coefficient").get<double>();
      if (!facts.at("before").is_null()) summary_.before = score_from(facts.at("before"));
      // Checkpoints of older programs lack the following.
      if (facts.contains("after") && !facts["after"].is_null()) summary_.after = score_from(facts["after"]);
      summary_.stopped = facts.value("stopped", "");
      exam_open_ = facts.value("exam_open", false);
      if (facts.contains("rates")) now_.rates = rates_from(facts["rates"]);
      if (options_.ahead > 0) {
        KW_TRY(known_, restore_ahead(*latest, models_.policy));
      }
      KW_TRY_VOID(guard_.restore(facts.at("guard")));
    } catch (const nlohmann::json::exception& error) {
      return broken(std::string("not a checkpoint of reinforcement learning: ") + error.what());
    }
    return true;
  }

  fs::path store_of(std::int64_t step) const {
    return options_.conversations.empty() ? fs::path() : options_.conversations / fmt::format("step-{:08}.db", step);
  }

  double learning_rate() const {
    Schedule schedule;
    schedule.shape = options_.steps > 0 && options_.last_share < 1 ? ScheduleShape::linear : ScheduleShape::constant;
    schedule.peak = options_.learning_rate;
    schedule.warm_up_steps = options_.warm_up_steps;
    schedule.all_steps = options_.steps;
    schedule.last_share = options_.last_share;
    return learning_rate_at(schedule, now_.step) * guard_.rate_share();
  }

  // From here on steps are held by a thread of its own.
  Result<void> go_ahead() {
    // Measured alone, while nobody else computes.
    KW_TRY([[maybe_unused]] const double peak_flops, models_.policy.peak_flops());
    KW_TRY(StepWeights newest, weights_now());
    known_.push_back(std::make_shared<const StepWeights>(std::move(newest)));
    ahead_.emplace(RolloutAhead::Place{.learner = models_.policy,
                                       .judge = judge_,
                                       .pool = pool_,
                                       .options = options_,
                                       .pay = hooks_.pay,
                                       .episode = hooks_.episode,
                                       .store_of = [this](std::int64_t step) { return store_of(step); }},
                   now_.step + 1, curriculum_, next_episode_, std::move(known_));
    return {};
  }

  Result<StepWeights> weights_now() {
    KW_TRY(WeightsCopy weights, models_.policy.copy_weights());
    return StepWeights{.step = now_.step, .history = history_, .weights = std::move(weights)};
  }

  // By the newest weights, now.
  Result<HeldStep> hold_step() {
    HeldStep step{.held = {}, .curriculum = curriculum_, .next_episode = next_episode_};
    const StepSource source{.learner = models_.policy,
                            .judge = judge_,
                            .pool = pool_,
                            .curriculum = step.curriculum,
                            .next_episode = step.next_episode,
                            .model = fmt::format("{} {}", options_.start, history_),
                            .store = store_of(now_.step + 1),
                            .pay = hooks_.pay,
                            .episode = hooks_.episode};
    KW_TRY(step.held, hold_step_conversations(source, options_));
    step.waited_s = step.held.wall_s;
    return step;
  }

  // False: interrupted in the middle; everything but the store is as it was before.
  Result<bool> step() {
    KW_TRY(const HeldStep taken, ahead_ ? ahead_->take() : hold_step());
    const StepConversations& held = taken.held;
    if (held.interrupted) {
      stop_ = true;
      return false;
    }
    curriculum_ = taken.curriculum;
    next_episode_ = taken.next_episode;
    const Clock::time_point start = Clock::now();
    const bool warming_up = models_.critic != nullptr && now_.step < options_.critic_warm_up;
    UpdateInputs inputs{.policy = models_.policy.trainer(),
                        .reference = models_.reference,
                        .critic = models_.critic,
                        .adapter_of = [this](AgentRole role) { return models_.policy.adapter_of(role); },
                        .model = &models_.policy.description(),
                        .train_base = models_.policy.trains_base(),
                        .learning_rate = learning_rate(),
                        .critic_learning_rate = options_.critic_learning_rate * guard_.rate_share(),
                        .kl_coefficient = models_.reference != nullptr ? kl_.coefficient : 0,
                        .move_policy = !warming_up,
                        .seed = Random(options_.seed, static_cast<std::uint64_t>(now_.step)).next(),
                        .ranks = options_.ranks,
                        .slots = slots_};
    KW_TRY(const UpdateReport update, update_policy(inputs, held.answers, options_.update));
    const double update_s = seconds_since(start);
    ++now_.step;
    // By minutes the clock of rank 0 says when it is over.
    KW_TRY(now_.seconds, first_says(options_.ranks, now_.seconds + taken.waited_s + update_s));
    KW_TRY_VOID(finish_step(taken, update, update_s, warming_up));
    if (ahead_) {
      KW_TRY(StepWeights newest, weights_now());
      ahead_->publish(std::move(newest));
    }
    return true;
  }

  Result<void> finish_step(const HeldStep& taken, const UpdateReport& update, double update_s, bool warming_up) {
    const StepConversations& held = taken.held;
    const int tier = curriculum_.open_tier();
    KW_TRY(const double peak_flops, models_.policy.peak_flops());
    const Metrics metrics = step_metrics({.conversations = held,
                                          .update = update,
                                          .waited_s = taken.waited_s,
                                          .update_s = update_s,
                                          .age = ahead_ ? std::optional(taken.age) : std::nullopt,
                                          .kl_coefficient = kl_.coefficient,
                                          .rate_share = guard_.rate_share(),
                                          .tier = tier,
                                          .peak_flops = peak_flops},
                                         options_.episode);
    KW_TRY_VOID(log_.metrics(now_.step, metrics));
    remember(metrics);
    if (options_.adaptive_kl && update.kl_reference)
      kl_.update(*update.kl_reference, static_cast<double>(update.answers));
    now_.rates = rates_of(held.episodes);
    if (!warming_up && update.optimizer_steps > 0) {
      const GuardAdvice advice = guard_.look({.kl = update.kl_reference,
                                              .entropy = update.entropy,
                                              .pass_rate = now_.rates.pass_rate,
                                              .tier = tier,
                                              .skipped = update.skipped_steps > 0});
      if (advice.action != GuardAction::none) {
        if (hooks_.notice && is_first(options_.ranks)) hooks_.notice(advice.message);
        KW_TRY_VOID(log_.text(now_.step, "guard", advice.message));
      }
      if (advice.action == GuardAction::stop) summary_.stopped = advice.message;
    }
    show(held, update);
    return {};
  }

  // Names the weights by how they came about, so that conversations of another history (another learning rate after a
  // restart, a GPU that rounds otherwise) are never taken for theirs.
  void remember(const Metrics& metrics) {
    Sha256 hash;
    hash.add(history_);
    for (const auto& [name, value] : metrics)
      if (!is_timing(name)) hash.add(name).add(fmt::format("{}", value));
    history_ = hash.hex();
  }

  void show(const StepConversations& held, const UpdateReport& update) {
    double turns = 0;
    for (const Episode& episode : held.episodes) turns += static_cast<double>(episode.turns.size());
    now_.turns = turns / static_cast<double>(std::max<std::size_t>(held.episodes.size(), 1));
    now_.tier = curriculum_.open_tier();
    now_.kl = update.kl_reference.value_or(update.kl_old);
    now_.entropy = update.entropy;
    now_.tokens_per_s = held.wall_s > 0 ? static_cast<double>(held.sampled_tokens) / held.wall_s : 0;
    now_.kernels_per_s = held.wall_s > 0 ? static_cast<double>(held.kernels) / held.wall_s : 0;
    const double each = now_.seconds / static_cast<double>(now_.step);
    now_.left_s = std::max(0.0, options_.minutes > 0 ? options_.minutes * 60 - now_.seconds
                                                     : each * static_cast<double>(options_.steps - now_.step));
    if (hooks_.progress && is_first(options_.ranks)) hooks_.progress(now_);
  }

  // Rank 0 is examined, all have its weights; the others hear what came out of it.
  Result<std::optional<HeldOutScore>> evaluate() {
    if (!hooks_.evaluate) return std::optional<HeldOutScore>();
    const Communicator::Patience patience(options_.ranks, alone_s);
    std::optional<HeldOutScore> score;
    if (is_first(options_.ranks)) {
      KW_TRY(score, hooks_.evaluate(now_.step));
    }
    KW_TRY_VOID(look_for_interrupt());
    if (stop_) return std::optional<HeldOutScore>();  // half an exam says nothing
    KW_TRY(const double value, first_says(options_.ranks, score ? score->score : 0));
    if (!score) score = HeldOutScore{value, {}, ""};
    KW_TRY_VOID(log_.metrics(now_.step, score->metrics));
    if (hooks_.evaluated && is_first(options_.ranks)) hooks_.evaluated(now_.step, *score);
    return score;
  }

  bool evaluation_due() const {
    if (options_.evaluations <= 0) return false;
    if (over() || !summary_.stopped.empty()) return true;
    const double done = options_.minutes > 0 ? now_.seconds / (options_.minutes * 60)
                                             : static_cast<double>(now_.step) / static_cast<double>(options_.steps);
    return std::floor(options_.evaluations * done) > static_cast<double>(evaluations_);
  }

  Result<void> evaluate_and_save() {
    std::optional<HeldOutScore> score;
    const bool due = evaluation_due();
    if (due) {
      KW_TRY(score, evaluate());
      // An exam that was interrupted is held when the run goes on, with the same weights.
      exam_open_ = stop_ && !score && hooks_.evaluate;
      if (exam_open_) return {};
      ++evaluations_;
      if (score) summary_.after = score;
    }
    const bool last = over() || !summary_.stopped.empty();
    if (due || last || now_.step % options_.checkpoint_every == 0) return save(score);
    return {};
  }

  Result<void> save(const std::optional<HeldOutScore>& score) {
    KW_TRY_VOID(log_.flush());
    Json facts = {{"kind", "rl"},
                  {"start", options_.start},
                  {"algorithm", to_string(options_.algorithm)},
                  {"seconds", now_.seconds},
                  {"next_episode", next_episode_},
                  {"history", history_},
                  {"evaluations", evaluations_},
                  {"kl_coefficient", kl_.coefficient},
                  {"guard", guard_.state()},
                  {"before", summary_.before ? to_json(*summary_.before) : Json()},
                  {"after", summary_.after ? to_json(*summary_.after) : Json()},
                  {"stopped", summary_.stopped},
                  {"exam_open", exam_open_},
                  {"slots", slots_},
                  {"rates", to_json(now_.rates)}};
    if (ahead_) facts["ahead"] = ahead_facts(ahead_->older());
    const std::optional<double> value = score ? std::optional(score->score) : std::nullopt;
    KW_TRY_VOID(save_for_all(options_.ranks, checkpoints_, now_.step, value, facts,
                             [&](const fs::path& folder) -> Result<void> {
                               if (is_first(options_.ranks))
                                 KW_TRY_VOID(write_file_atomic(folder / "curriculum.json", curriculum_.state()));
                               if (models_.critic != nullptr)
                                 KW_TRY_VOID(models_.critic->save_state((folder / "critic").string()));
                               if (ahead_) KW_TRY_VOID(save_ahead(folder, ahead_->older()));
                               return models_.policy.trainer().save_state((folder / "trainer").string());
                             }));
    forget_conversations();
    saved_step_ = now_.step;
    return {};
  }

  // What is in a checkpoint will not be held again.
  void forget_conversations() const {
    if (options_.conversations.empty() || !is_first(options_.ranks)) return;
    for (std::int64_t step = std::max<std::int64_t>(saved_step_, 0) + 1; step <= now_.step; ++step) {
      if (options_.keep_conversations > 0 && step % options_.keep_conversations == 0) {
        remove_part_stores(store_of(step));
      } else {
        remove_store(store_of(step));
      }
    }
  }

  // Conversations that nobody will learn from.
  void forget_steps_ahead() {
    ahead_.reset();
    if (options_.conversations.empty()) return;
    for (std::int64_t step = 1; step <= options_.ahead + 1; ++step) remove_store(store_of(now_.step + step));
  }

  const ReinforceModels& models_;
  Judge& judge_;
  const TaskPool& pool_;
  const ReinforceOptions& options_;
  Checkpoints& checkpoints_;
  RunLog& log_;
  const ReinforceHooks& hooks_;

  // What a checkpoint holds.
  Curriculum curriculum_;
  CollapseGuard guard_;
  AdaptiveKl kl_;
  ReinforceProgress now_;
  std::uint64_t next_episode_ = 0;
  std::string history_;

  ReinforceSummary summary_;
  std::int64_t saved_step_ = -1;
  std::int64_t evaluations_ = 0;
  bool exam_open_ = false;  // the exam after this step was interrupted
  bool stop_ = false;       // somebody was interrupted
  std::int64_t slots_ = 1;

  std::vector<std::shared_ptr<const StepWeights>> known_;  // a checkpoint's, until the thread has them
  std::optional<RolloutAhead> ahead_;                      // last: its thread ends first
};

}  // namespace

Result<ReinforceSummary> reinforce(const ReinforceModels& models, Judge& judge, const TaskPool& pool,
                                   Curriculum curriculum, const ReinforceOptions& options, Checkpoints& checkpoints,
                                   RunLog& log, const ReinforceHooks& hooks) {
  KW_TRY_VOID(check_options(options));
  if (options.kl.coefficient > 0 && models.reference == nullptr) return Error{"KL needs the frozen start", "", {}};
  if ((options.algorithm == Algorithm::ppo) != (models.critic != nullptr))
    return Error{"PPO has a critic, others have none", "", {}};
  if (options.ahead > 0 && models.policy.sampler() == nullptr)
    return Error{"conversations ahead need a sampler with weights of its own", "make the policy with one", {}};
  if (!options.conversations.empty()) {
    std::error_code failed;
    fs::create_directories(options.conversations, failed);
    if (failed)
      return Error{"cannot make this folder: " + failed.message(), "", {options.conversations.string(), 0, 0}};
  }
  return ReinforceRun(models, judge, pool, std::move(curriculum), options, checkpoints, log, hooks).run();
}

}  // namespace kw
