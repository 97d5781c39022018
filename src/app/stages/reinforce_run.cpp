#include "app/stages/reinforce_run.h"

#include <fmt/format.h>

#include <filesystem>
#include <iostream>

#include "agents/episode/agent_files.h"
#include "app/stages/cores.h"
#include "app/stages/reinforce_examiner.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "kernel/judge/judge_session.h"
#include "learn/rl/reinforce.h"
#include "learn/rl/starting_models.h"

namespace kw {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

Result<void> set_terms(const std::vector<std::string>& texts, RewardShape& shape) {
  for (const std::string& text : texts) {
    const std::size_t sign = text.find('=');
    const auto kind = reward_term_from_string(text.substr(0, sign));
    char* end = nullptr;
    const std::string number = sign == std::string::npos ? "" : text.substr(sign + 1);
    const double weight = std::strtod(number.c_str(), &end);
    if (!kind || number.empty() || *end != '\0')
      return Error{
          "'" + text + "' is not TERM=WEIGHT", "as in --reward-term speed=0.5; `kernelwright reward` names terms", {}};
    shape.set_weight(*kind, weight);
  }
  return {};
}

// What was said on the command line, over what belongs to the algorithm.
Result<ReinforceOptions> options_from(const RlArguments& arguments) {
  KW_TRY(const Algorithm algorithm, algorithm_from(arguments.algorithm));
  const ReinforceOptions usual = reinforce_options(algorithm);
  ReinforceOptions options = arguments.rl;
  options.algorithm = algorithm;
  options.refills = arguments.refills >= 0 ? arguments.refills : usual.refills;
  options.critic_warm_up = arguments.critic_warm_up >= 0 ? arguments.critic_warm_up : usual.critic_warm_up;
  options.update.mini_batches = arguments.mini_batches > 0 ? arguments.mini_batches : usual.update.mini_batches;
  options.update.mean = usual.update.mean;
  if (usual.update.mean == LossMean::answers_token_sum)
    options.update.token_scale = static_cast<double>(options.episode.answer_tokens);
  options.update.clip.low = arguments.clip_low;
  options.update.clip.high = arguments.clip_high > 0 ? arguments.clip_high : usual.update.clip.high;
  options.update.temperature = options.episode.temperature;
  KW_TRY(options.update.kl_estimator, kl_estimator_from(arguments.kl_estimator));
  options.adaptive_kl = arguments.kl_target > 0;
  if (options.adaptive_kl) options.kl.target = arguments.kl_target;
  KW_TRY(options.credit.rule, credit_rule_from(arguments.credit));
  options.credit.overlong_buffer =
      arguments.overlong_buffer >= 0 ? arguments.overlong_buffer : usual.credit.overlong_buffer;
  KW_TRY(options.credit.outcome, reward_shape_for(arguments, std::nullopt));
  KW_TRY(options.episode.generator_reward, reward_shape_for(arguments, AgentRole::generator));
  KW_TRY(options.episode.optimizer_reward, reward_shape_for(arguments, AgentRole::optimizer));
  if (arguments.stop_reward > 0) options.episode.stop_reward = arguments.stop_reward;
  options.episode.seed = options.seed;
  options.conversations = fs::path(arguments.out) / "conversations";
  if (arguments.exam == 0) options.evaluations = 0;
  KW_TRY_VOID(check_options(options));
  return options;
}

Result<std::unique_ptr<JudgeSession>> start_judge(const RlArguments& arguments) {
  JudgeSessionOptions options{arguments.judge_on, arguments.profile, arguments.rl.judge_workers, arguments.cache};
  options.purpose = JudgePurpose::training;
  return JudgeSession::start(options);
}

// The policy, its frozen start and its critic; all from the same files.
struct Models {
  std::unique_ptr<Learner> policy, reference, critic;
  std::string base;   // what agents.json names
  std::string start;  // content of the files
};

Result<Models> make_models(const RlArguments& arguments, const ReinforceOptions& rl) {
  KW_TRY(const AgentFiles opened, open_agents(arguments.model));
  const AgentSet& agents = opened.set;
  Models models;
  models.base = base_name(agents);
  KW_TRY(models.start, content_hash(agents));
  LearnerOptions options;
  options.device = arguments.device;
  options.threads = arguments.threads;
  options.train_base = arguments.method == "full" || (arguments.method == "auto" && agents.adapters.empty());
  if (options.train_base && !agents.adapters.empty())
    return Error{
        "these agents have adapters: training the base under them would not keep what they know", "--method lora", {}};
  if (!options.train_base) options.adapters = {AgentRole::generator, AgentRole::optimizer};
  options.adapter_folders = agents.adapters;
  options.rank = arguments.rank;
  options.alpha = static_cast<float>(arguments.alpha);
  options.seed = rl.seed;
  options.optimizer.learning_rate = rl.learning_rate;
  options.optimizer.weight_decay = arguments.weight_decay;
  options.optimizer.beta1 = arguments.beta1;
  options.optimizer.beta2 = arguments.beta2;
  options.optimizer.clip_norm = arguments.clip_norm;
  KW_TRY(options.optimizer.kind, optimizer_kind(arguments.optimizer));
  KW_TRY(StartingModels started,
         open_starting_models(opened.base, options,
                              {.reference = rl.kl.coefficient > 0, .critic = rl.algorithm == Algorithm::ppo}));
  models.policy = std::move(started.policy);
  models.reference = std::move(started.reference);
  models.critic = std::move(started.critic);
  return models;
}

Json configuration_of(const RlArguments& arguments, const ReinforceOptions& rl, const Models& models) {
  return {{"model", arguments.model},
          {"start", models.start},
          {"method", models.policy->adapter_of(AgentRole::generator) >= 0 ? "lora" : "full"},
          {"algorithm", arguments.algorithm},
          {"credit", arguments.credit},
          {"credit_discount", rl.credit.discount},
          {"reward", arguments.reward},
          {"reward_terms", arguments.terms},
          {"speed_scale", arguments.speed_scale},
          {"target_speedup", arguments.target_speedup},
          {"steps", rl.steps},
          {"minutes", rl.minutes},
          {"tasks", rl.tasks},
          {"group", rl.group},
          {"turns", rl.episode.turns},
          {"temperature", rl.episode.temperature},
          {"answer_tokens", rl.episode.answer_tokens},
          {"learning_rate", rl.learning_rate},
          {"kl", rl.kl.coefficient},
          {"kl_target", arguments.kl_target},
          {"kl_estimator", arguments.kl_estimator},
          {"entropy_bonus", rl.update.entropy_bonus},
          {"epochs", rl.update.epochs},
          {"mini_batches", rl.update.mini_batches},
          {"refills", rl.refills},
          {"pool", arguments.pool},
          {"families", arguments.families},
          {"curriculum", arguments.curriculum},
          {"seed", rl.seed},
          {"device", models.policy->device()}};
}

Result<TaskPool> pool_from(const RlArguments& arguments) {
  StreamOptions stream;
  stream.seed = arguments.rl.seed;
  for (const std::string& name : arguments.families) {
    const auto family = family_from_name(name);
    if (!family) return Error{"there is no family '" + name + "'", "`kernelwright data stats` names them", {}};
    stream.families.push_back(*family);
  }
  return draw_task_pool(stream, arguments.pool);
}

std::string table_line(const ReinforceProgress& now) {
  return fmt::format("{:>9} {:>7.3f} {:>8.1f} {:>8.1f} {:>8.2f} {:>5} {:>6.2f} {:>8.3f} {:>8.0f} {:>9.1f}  {}",
                     now.steps > 0 ? fmt::format("{}/{}", now.step, now.steps) : std::to_string(now.step),
                     now.rates.reward, 100 * now.rates.compile_rate, 100 * now.rates.pass_rate,
                     now.rates.speedup_median, now.tier, now.turns, now.entropy, now.tokens_per_s, now.kernels_per_s,
                     duration_text(now.left_s));
}

ReinforceHooks hooks_for(RlExaminer* examiner) {
  ReinforceHooks hooks;
  if (examiner != nullptr) hooks.evaluate = [examiner](std::int64_t step) { return examiner->examine(step); };
  hooks.evaluated = [](std::int64_t step, const HeldOutScore& score) {
    std::cerr << fmt::format("exam after step {}: {}\n", step, score.line);
  };
  hooks.notice = [](std::string_view message) { std::cerr << message << "\n"; };
  hooks.progress = [shown = 0](const ReinforceProgress& now) mutable {
    if (shown++ % 20 == 0)
      std::cerr << fmt::format("{:>9} {:>7} {:>8} {:>8} {:>8} {:>5} {:>6} {:>8} {:>8} {:>9}  {}\n", "step", "reward",
                               "compile%", "correct%", "speedup", "tier", "turns", "entropy", "tok/s", "kernels/s",
                               "left");
    std::cerr << table_line(now) << "\n";
  };
  return hooks;
}

Result<std::unique_ptr<RunLog>> open_log(const RlArguments& arguments, const ReinforceOptions& rl, const Models& models,
                                         const Checkpoints& checkpoints) {
  KW_TRY(const auto latest, checkpoints.latest());
  const fs::path out = arguments.out;
  RunLogOptions options;
  options.folder = out;
  options.name = arguments.name.empty() ? fs::absolute(out).lexically_normal().filename().string() : arguments.name;
  options.kind = "rl";
  options.configuration = configuration_of(arguments, rl, models);
  options.resume_after_step = latest ? latest->step : -1;
  options.restart = !latest;  // killed before its first checkpoint
  if (latest) std::cerr << fmt::format("going on after step {}\n", latest->step);
  return RunLog::open(options);
}

}  // namespace

Result<RewardShape> reward_shape_for(const RlArguments& arguments, std::optional<AgentRole> role) {
  KW_TRY(RewardShape shape, reward_shape(arguments.reward, role));
  shape.speed_scale = arguments.speed_scale == "log" ? SpeedScale::logarithmic : SpeedScale::linear;
  shape.target_speedup = arguments.target_speedup;
  if (arguments.improvement_target > 0) shape.improvement_target = arguments.improvement_target;
  if (arguments.repair >= 0) shape.repair = arguments.repair;
  if (arguments.gate != "shape") shape.gate = arguments.gate == "always";
  KW_TRY_VOID(set_terms(arguments.terms, shape));
  KW_TRY_VOID(check_shape(shape));
  return shape;
}

Result<Json> train_rl(const RlArguments& arguments) {
  KW_TRY(const ReinforceOptions given, options_from(arguments));
  ReinforceOptions options = given;
  const fs::path out = arguments.out;
  std::error_code failed;
  fs::create_directories(out, failed);
  if (failed) return Error{"cannot make this folder: " + failed.message(), "", {out.string(), 0, 0}};
  KW_TRY(const Models models, make_models(arguments, options));
  options.start = models.start;
  const std::int64_t context = models.policy->description().context;
  options.update.pass_tokens = std::max(options.update.pass_tokens, context);
  KW_TRY(const TaskPool pool, pool_from(arguments));
  KW_TRY(Curriculum curriculum, make_curriculum(pool, arguments.curriculum, options.seed, arguments.rules));
  KW_TRY(const auto judging, start_judge(arguments));
  KW_TRY(Checkpoints checkpoints, Checkpoints::open(out / "checkpoints", {.keep_last = arguments.keep_checkpoints}));
  KW_TRY(const auto log, open_log(arguments, options, models, checkpoints));
  std::cerr << fmt::format("{}, {} on {}, judged {}; {} tasks to learn from\n", arguments.model, arguments.algorithm,
                           models.policy->device(), judging->on_gpu() ? "on the GPU" : "in the emulator",
                           pool.tasks.size());
  std::optional<RlExaminer> examiner;
  if (arguments.exam > 0) {
    RlExamOptions exam;
    exam.questions = arguments.exam;
    exam.seed = arguments.exam_seed;
    exam.samples = arguments.exam_samples;
    exam.temperature =
        arguments.exam_temperature < 0 ? options.episode.temperature : static_cast<float>(arguments.exam_temperature);
    exam.worth = options.credit.outcome;
    exam.turns = std::max(2, options.episode.turns);
    exam.answer_tokens = options.episode.answer_tokens;
    exam.judge_workers = options.judge_workers;
    exam.model = arguments.model;
    exam.folder = out / "exams";
    examiner.emplace(exam, *models.policy, judging->judge());
  }
  const ReinforceHooks hooks = hooks_for(examiner ? &*examiner : nullptr);
  const ReinforceModels learners{.policy = *models.policy,
                                 .reference = models.reference ? &models.reference->trainer() : nullptr,
                                 .critic = models.critic ? &models.critic->trainer() : nullptr};
  auto ended = reinforce(learners, judging->judge(), pool, std::move(curriculum), options, checkpoints, *log, hooks);
  if (!ended.ok()) {
    static_cast<void>(log->finish("failed", {{"error", to_string(ended.error())}}));
    return ended.error();
  }
  const ReinforceSummary& summary = *ended;
  Json result = {{"out", out.string()},
                 {"step", summary.last.step},
                 {"seconds", summary.last.seconds},
                 {"reward", summary.last.rates.reward},
                 {"compile_rate", summary.last.rates.compile_rate},
                 {"pass_rate", summary.last.rates.pass_rate},
                 {"tier", summary.last.tier},
                 {"interrupted", summary.interrupted}};
  for (const auto& [when, exam] : {std::pair("before", &summary.before), std::pair("after", &summary.after)})
    if (*exam)
      for (const auto& [name, value] : (*exam)->metrics) result[fmt::format("{} {}", when, name)] = value;
  if (!summary.stopped.empty()) {
    result["stopped"] = summary.stopped;
    // What a run that went wrong ends with is not worth keeping.
    KW_TRY(const auto best, checkpoints.best());
    if (best) {
      KW_TRY_VOID(models.policy->trainer().restore_state((best->folder / "trainer").string()));
      result["best_step"] = best->step;
    }
  }
  if (!summary.interrupted) {
    KW_TRY_VOID(models.policy->save_agents(out / "agents", models.base, ElementType::bf16));
    result["agents"] = (out / "agents").string();
  }
  KW_TRY_VOID(log->finish(summary.interrupted ? "interrupted" : summary.stopped.empty() ? "done" : "stopped", result));
  return result;
}

}  // namespace kw
