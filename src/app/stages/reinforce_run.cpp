#include "app/stages/reinforce_run.h"

#include <fmt/format.h>

#include <filesystem>
#include <iostream>

#include "agents/episode/agent_files.h"
#include "app/stages/reinforce_examiner.h"
#include "base/hash.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "kernel/judge/judge_session.h"
#include "learn/rl/reinforce.h"
#include "learn/rl/starting_models.h"
#include "model/distributed/shared_run.h"

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

// What an algorithm is (its advantages, its mean over tokens) is no setting.
Result<ReinforceOptions> options_from(const RlArguments& arguments) {
  KW_TRY(const Algorithm algorithm, algorithm_from(arguments.algorithm));
  const ReinforceOptions usual = reinforce_options(algorithm);
  ReinforceOptions options = arguments.rl;
  options.algorithm = algorithm;
  options.update.mean = usual.update.mean;
  if (usual.update.mean == LossMean::answers_token_sum)
    options.update.token_scale = static_cast<double>(options.episode.answer_tokens);
  options.update.temperature = options.episode.temperature;
  KW_TRY(options.update.kl_estimator, kl_estimator_from(arguments.kl_estimator));
  options.adaptive_kl = arguments.kl_target > 0;
  if (options.adaptive_kl) options.kl.target = arguments.kl_target;
  KW_TRY(options.credit.rule, credit_rule_from(arguments.credit));
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

// The policy, its frozen start and its critic; all from the same files.
struct Models {
  std::unique_ptr<Learner> policy, reference, critic;
  std::string base;                    // what agents.json names
  std::string start;                   // content of the files
  std::set<std::string> learned_from;  // benchmarks
};

Result<Models> make_models(const RlArguments& arguments, const ReinforceOptions& rl) {
  KW_TRY(const AgentFiles opened, open_agents(arguments.model));
  const AgentSet& agents = opened.set;
  Models models;
  models.base = base_name(agents);
  models.learned_from = agents.learned_from;
  KW_TRY(models.start, content_hash(agents));
  LearnerOptions options;
  options.device = arguments.device;
  options.threads = threads_for(arguments.threads, rl.ranks);
  options.ranks = rl.ranks;
  options.sampler = rl.ahead > 0;
  options.train_base = arguments.method == "full" || (arguments.method == "auto" && agents.adapters.empty());
  if (options.train_base && !agents.adapters.empty())
    return Error{
        "these agents have adapters: training the base under them would not keep what they know", "--method lora", {}};
  if (!options.train_base) options.adapters = {AgentRole::generator, AgentRole::optimizer};
  options.quantised = arguments.quantised;
  options.gpu_memory_bytes = static_cast<std::int64_t>(arguments.gpu_memory_gib * 1024) << 20;
  options.optimizer.eight_bit = arguments.eight_bit;
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

// config.json of the run: what it was asked for, and, once it is done, how many steps the minutes were worth.
Json configuration_of(const RlArguments& arguments, const std::set<std::string>& learned_from, std::int64_t steps = 0) {
  Configuration configuration = arguments.configuration;
  if (steps > 0 && arguments.rl.minutes > 0) {
    configuration.note_measured("rl.steps", steps);
    configuration.note_measured("rl.last_lr", 1);  // by minutes it stays where it is
  }
  Json json = configuration.to_json();
  if (!learned_from.empty()) json["learned_from"] = learned_from;
  return json;
}

Result<TaskPool> pool_from(const RlArguments& arguments) {
  StreamOptions stream;
  stream.seed = arguments.rl.seed;
  stream.families = arguments.families;
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

Result<std::unique_ptr<RunLog>> open_log(const RlArguments& arguments, const std::set<std::string>& learned_from,
                                         const Checkpoints& checkpoints) {
  if (!is_first(arguments.rl.ranks)) return silent_log();
  KW_TRY(const auto latest, checkpoints.latest());
  const fs::path out = arguments.out;
  RunLogOptions options;
  options.folder = out;
  options.name = arguments.name.empty() ? fs::absolute(out).lexically_normal().filename().string() : arguments.name;
  options.kind = "rl";
  options.configuration = configuration_of(arguments, learned_from);
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
  shape.improvement_target = arguments.improvement_target;
  shape.repair = arguments.repair;
  if (arguments.gate != "shape") shape.gate = arguments.gate == "always";
  KW_TRY_VOID(set_terms(arguments.terms, shape));
  KW_TRY_VOID(check_shape(shape));
  return shape;
}

namespace {

std::optional<RlExaminer> examiner_for(const RlArguments& arguments, const ReinforceOptions& options, Learner& policy,
                                       Judge& judge) {
  if (arguments.exam == 0) return {};
  RlExamOptions exam;
  exam.questions = arguments.exam;
  exam.seed = arguments.exam_seed;
  exam.samples = arguments.exam_samples;
  exam.temperature =
      arguments.exam_temperature < 0 ? options.episode.temperature : static_cast<float>(arguments.exam_temperature);
  exam.worth = options.credit.outcome;
  exam.turns = std::max(2, options.episode.turns);
  exam.answer_tokens = options.episode.answer_tokens;
  exam.constrain = options.episode.constrain;
  exam.judge_workers = options.judge_workers;
  exam.model = arguments.model;
  exam.folder = fs::path(arguments.out) / "exams";
  return RlExaminer(exam, policy, judge);
}

Json result_of(const RlArguments& arguments, const ReinforceSummary& summary) {
  Json result = {{"out", arguments.out},
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
  return result;
}

// The agents that the run ends with; of one that went wrong, the best that it had.
Result<void> keep_agents(const RlArguments& arguments, const ReinforceSummary& summary, const Checkpoints& checkpoints,
                         const Models& models, Json& result) {
  if (!summary.stopped.empty()) {
    result["stopped"] = summary.stopped;
    KW_TRY(const auto best, checkpoints.best());
    if (best) {
      KW_TRY_VOID(models.policy->trainer().restore_state((best->folder / "trainer").string()));
      result["best_step"] = best->step;
    }
  }
  if (summary.interrupted) return {};
  const fs::path agents = fs::path(arguments.out) / "agents";
  KW_TRY_VOID(models.policy->save_agents(agents, models.base, ElementType::bf16, models.learned_from));
  result["agents"] = agents.string();
  return {};
}

// What is hidden from a kernel depends on the machine's secret: ranks whose judges have different ones would pay the
// same kernel differently. Its hash alone travels.
Result<void> check_secrets(Communicator* ranks) {
  if (rank_count(ranks) == 1) return {};
  KW_TRY(const std::string secret, first_then_others(ranks, [] { return machine_secret(); }));
  const std::string mine = sha256_hex(secret);
  KW_TRY(const auto all, ranks->all_gather(mine, mine.size()));
  for (int rank = 0; rank < ranks->size(); ++rank)
    if (all[static_cast<std::size_t>(rank)] != all.front())
      return Error{fmt::format("the judge of rank {} has another secret than that of rank 0", rank),
                   "copy the file `secret` of rank 0's cache folder to the other machines, or share KERNELWRIGHT_CACHE",
                   {}};
  return {};
}

}  // namespace

Result<Json> train_rl(const RlArguments& arguments) {
  KW_TRY(ReinforceOptions options, options_from(arguments));
  const fs::path out = arguments.out;
  Communicator* const ranks = options.ranks;
  std::error_code failed;
  fs::create_directories(out, failed);
  if (failed) return Error{"cannot create this folder: " + failed.message(), "", {out.string(), 0, 0}};
  KW_TRY(const Models models, make_models(arguments, options));
  KW_TRY_VOID(check_devices(ranks, *models.policy));
  options.start = models.start;
  // A conversation that is longer than a pass is a pass of its own.
  KW_TRY(options.update.pass_tokens,
         models.policy->pass_tokens(std::max(options.update.pass_tokens, models.policy->description().context), 0));
  KW_TRY(const TaskPool pool, pool_from(arguments));
  KW_TRY(Curriculum curriculum, make_curriculum(pool, arguments.curriculum, options.seed, arguments.rules));
  JudgeSessionOptions judge = arguments.judge;
  if (ranks != nullptr) {
    // Judges of the ranks of one machine share its cores.
    judge.workers = threads_for(judge.workers, ranks);
    options.judge_workers = threads_for(options.judge_workers, ranks);
  }
  KW_TRY_VOID(check_secrets(ranks));
  KW_TRY(const auto judging, JudgeSession::start(judge));
  KW_TRY(Checkpoints checkpoints, first_then_others(ranks, [&] {
           return Checkpoints::open(out / "checkpoints", {.keep_last = arguments.keep_checkpoints});
         }));
  KW_TRY(const auto log, open_log(arguments, models.learned_from, checkpoints));
  if (is_first(ranks))
    std::cerr << fmt::format("{}, {} on {}{}, judged {}; {} tasks to learn from\n", arguments.model,
                             arguments.algorithm, models.policy->device(),
                             ranks != nullptr ? fmt::format(", {} ranks", ranks->size()) : "",
                             judging->on_gpu() ? "on the GPU" : "in the emulator", pool.tasks.size());
  std::optional<RlExaminer> examiner = examiner_for(arguments, options, *models.policy, judging->judge());
  const ReinforceHooks hooks = hooks_for(examiner ? &*examiner : nullptr);
  const ReinforceModels learners{.policy = *models.policy,
                                 .reference = models.reference ? &models.reference->trainer() : nullptr,
                                 .critic = models.critic ? &models.critic->trainer() : nullptr};
  auto ended = reinforce(learners, judging->judge(), pool, std::move(curriculum), options, checkpoints, *log, hooks);
  if (!ended.ok()) {
    static_cast<void>(log->finish("failed", {{"error", to_string(ended.error())}}));
    return ended.error();
  }
  Json result = result_of(arguments, *ended);
  if (!is_first(ranks)) return result;
  KW_TRY_VOID(keep_agents(arguments, *ended, checkpoints, models, result));
  if (!ended->interrupted)
    KW_TRY_VOID(log->set_configuration(configuration_of(arguments, models.learned_from, ended->last.step)));
  KW_TRY_VOID(log->finish(ended->interrupted ? "interrupted" : ended->stopped.empty() ? "done" : "stopped", result));
  return result;
}

}  // namespace kw
