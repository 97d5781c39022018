#include "app/stages/stage_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "agents/endpoint/endpoint_name.h"
#include "kernel/task/task_file.h"
#include "model/decoder/presets.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

Result<std::vector<Family>> families_of(SettingReader& settings) {
  std::vector<Family> families;
  const auto novel = novel_families();
  for (const std::string& name : settings.list("data.families")) {
    const auto family = family_from_name(name);
    if (!family)
      return Error{"data.families: there is no family '" + name + "'", "kernelwright data families names them", {}};
    if (std::ranges::find(novel, *family) != novel.end())
      return Error{"data.families: " + name + " is held out: training never shows it", "", {}};
    families.push_back(*family);
  }
  return families;
}

ScheduleShape schedule_shape(const std::string& name) {
  if (name == "constant") return ScheduleShape::constant;
  return name == "linear" ? ScheduleShape::linear : ScheduleShape::cosine;
}

// Steps, or else minutes: the modules want one of them.
template <class Options>
void set_length(SettingReader& settings, const std::string& section, Options& options) {
  options.steps = settings.whole(section + ".steps");
  options.minutes = settings.number(section + ".minutes");
  if (options.steps > 0) options.minutes = 0;
}

Result<JudgeSessionOptions> judge_options(SettingReader& settings) {
  JudgeSessionOptions judge;
  judge.backend = settings.text("judge.on");
  judge.profile = settings.text("judge.profile");
  judge.secret_file = settings.text("judge.secret_file");
  judge.workers = settings.whole<int>("judge.workers");
  judge.cache = settings.flag("judge.cache");
  judge.purpose = JudgePurpose::training;
  if (auto known = check_backend(judge.backend); !known.ok()) {
    Error error = std::move(known).error();
    error.message = "judge.on: " + error.message;
    return error;
  }
  return judge;
}

void set_lessons(SettingReader& settings, LessonPlan& plan) {
  plan.share[static_cast<int>(LessonKind::generate)] = settings.number("sft.generate");
  plan.share[static_cast<int>(LessonKind::optimise)] = settings.number("sft.optimise");
  plan.share[static_cast<int>(LessonKind::repair)] = settings.number("sft.repair");
  plan.share[static_cast<int>(LessonKind::report)] = settings.number("sft.report");
  plan.house_style = settings.number("sft.house_style");
  plan.formulas = settings.number("sft.formulas");
  plan.drill = settings.number("sft.drill");
  plan.generate_first = settings.whole("sft.generate_first");
  plan.ramp = settings.whole("sft.ramp");
  plan.level_named = settings.number("sft.level_named");
  plan.plain_unnamed = settings.number("sft.plain");
  plan.rewrite = settings.number("sft.rewrite");
  plan.unjudged = settings.number("sft.unjudged");
  plan.tried = settings.number("sft.tried");
  plan.longest = settings.whole("sft.longest");
}

}  // namespace

Result<StoreOptions> store_options(SettingReader& settings) {
  StoreOptions store;
  store.stream.seed = settings.whole<std::uint64_t>("data.seed");
  KW_TRY(store.stream.families, families_of(settings));
  store.tasks = settings.whole<std::uint64_t>("data.tasks");
  store.mutants = settings.whole<int>("data.mutants");
  // What the Generator will write is what the Optimizer should have seen.
  store.formulas = settings.number("sft.house_style") * settings.number("sft.formulas");
  if (const auto suite = suite_folder(); suite.ok()) store.suite = *suite;
  return store;
}

Result<SftArguments> sft_arguments(SettingReader& settings) {
  SftArguments sft;
  sft.configuration = settings.configuration();
  const bool from_nothing = settings.text("model.start") == "nothing";
  sft.model = settings.text(from_nothing ? "model.shape" : "model.start");
  sft.method = settings.text("model.method");
  sft.eight_bit = settings.text("model.moment_bits") == "8";
  sft.gpu_memory_gib = settings.number("model.gpu_memory");
  sft.rank = settings.whole("model.rank");
  sft.alpha = settings.number("model.alpha");
  sft.device = settings.text("model.device");
  sft.threads = settings.whole<int>("model.threads");
  sft.vocabulary = settings.whole<std::size_t>("tokenizer.vocabulary");
  sft.vocabulary_tasks = settings.whole<std::size_t>("tokenizer.tasks");
  sft.adapters = settings.list("sft.adapters");
  sft.store = settings.text("data.store");
  sft.conversations = settings.text("sft.conversations");
  sft.own = settings.number("sft.own_share");
  set_lessons(settings, sft.plan);
  KW_TRY(sft.plan.families, families_of(settings));
  set_length(settings, "sft", sft.training);
  sft.training.batch_tokens = settings.whole("sft.batch");
  sft.training.pass_tokens = settings.whole("sft.pass");
  sft.training.peak_learning_rate = settings.number("sft.lr");
  sft.training.shape = schedule_shape(settings.text("sft.schedule"));
  sft.training.warm_up_share = settings.number("sft.warm_up");
  sft.training.last_share = settings.number("sft.last_lr");
  sft.training.evaluations = static_cast<double>(settings.whole("sft.evaluations"));
  sft.training.log_every = settings.whole("sft.log_every");
  sft.training.checkpoint_every = settings.whole("sft.checkpoint_every");
  sft.training.producers = settings.whole<int>("sft.producers");
  sft.optimizer = settings.text("sft.optimizer");
  sft.beta1 = settings.number("sft.beta1");
  sft.beta2 = settings.number("sft.beta2");
  sft.weight_decay = settings.number("sft.weight_decay");
  sft.clip_norm = settings.number("sft.clip_norm");
  sft.exam = settings.whole<std::size_t>("sft.exam");
  sft.optimizer_exam = settings.whole<std::size_t>("sft.optimizer_exam");
  sft.exam_seed = settings.whole<std::uint64_t>("evaluation.seed");
  sft.answer_tokens = settings.whole("evaluation.answer_tokens");
  sft.constrain = settings.flag("model.constrain");
  sft.audit = settings.number("sft.audit");
  sft.seed = settings.whole<std::uint64_t>("run.seed");
  sft.keep_checkpoints = settings.whole<int>("run.keep_checkpoints");
  sft.training.slots = settings.whole("run.slots");
  KW_TRY(sft.judge, judge_options(settings));
  return sft;
}

Result<GatherArguments> gather_arguments(SettingReader& settings) {
  GatherArguments gather;
  gather.model = settings.text("model.start");
  KW_TRY(gather.families, families_of(settings));
  gather.first = settings.whole<std::uint64_t>("compatibility.first");
  gather.tasks = settings.whole<std::uint64_t>("compatibility.tasks");
  gather.turns = settings.whole<int>("compatibility.turns");
  gather.samples = settings.whole("compatibility.samples");
  gather.temperature = static_cast<float>(settings.number("compatibility.temperature"));
  gather.answer_tokens = settings.whole("rl.answer_tokens");
  gather.constrain = settings.flag("model.constrain");
  gather.seed = settings.whole<std::uint64_t>("run.seed");
  gather.device = settings.text("model.device");
  gather.threads = settings.whole<int>("model.threads");
  KW_TRY(gather.judge, judge_options(settings));
  return gather;
}

namespace {

CurriculumRules curriculum_rules(SettingReader& settings) {
  const bool tiers = settings.text("curriculum.kind") != "easy_medium_hard";
  CurriculumRules rules = tiers ? four_tiers() : easy_medium_hard();
  const double compile_rate = settings.number("curriculum.compile_rate");
  const double pass_rate = settings.number("curriculum.pass_rate");
  const auto answers = settings.whole("curriculum.answers");
  for (TierGate& gate : rules.gates) {
    if (tiers) {
      gate.compile_rate = compile_rate;
      gate.pass_rate = pass_rate;
    }
    gate.answers = answers;
  }
  rules.window = settings.whole<std::size_t>("curriculum.window");
  rules.review = settings.number("curriculum.review");
  rules.least_weight = settings.number("curriculum.least_weight");
  rules.memory = settings.number("curriculum.memory");
  return rules;
}

void set_reward(SettingReader& settings, RlArguments& rl) {
  rl.reward = settings.text("reward.shape");
  rl.terms = settings.list("reward.terms");
  rl.gate = settings.text("reward.gate");
  rl.speed_scale = settings.text("reward.speed_scale");
  rl.target_speedup = settings.number("reward.target_speedup");
  rl.improvement_target = settings.number("reward.improvement_target");
  rl.repair = settings.number("reward.repair");
}

void set_update(SettingReader& settings, RlArguments& rl) {
  UpdateOptions& update = rl.rl.update;
  update.epochs = settings.whole<int>("rl.epochs");
  update.mini_batches = settings.whole<int>("rl.mini_batches");
  update.pass_tokens = settings.whole("rl.pass");
  update.clip.low = settings.number("rl.clip");
  update.clip.high = settings.number("rl.clip_high");
  update.clip.dual = settings.number("rl.clip_dual");
  update.entropy_bonus = settings.number("rl.entropy_bonus");
  update.most_importance = settings.number("rl.most_importance");
  update.gamma = settings.number("rl.gamma");
  update.lambda = settings.number("rl.lambda");
  update.value_clip = settings.number("rl.value_clip");
  rl.rl.kl.coefficient = settings.number("rl.kl");
  rl.rl.kl.horizon = settings.number("rl.kl_horizon");
  rl.kl_target = settings.number("rl.kl_target");
  rl.kl_estimator = settings.text("rl.kl_estimator");
  rl.optimizer = settings.text("rl.optimizer");
  rl.rl.learning_rate = settings.number("rl.lr");
  rl.rl.warm_up_steps = settings.whole("rl.warm_up");
  rl.rl.last_share = settings.number("rl.last_lr");
  rl.beta1 = settings.number("rl.beta1");
  rl.beta2 = settings.number("rl.beta2");
  rl.weight_decay = settings.number("rl.weight_decay");
  rl.clip_norm = settings.number("rl.clip_norm");
  rl.rl.critic_learning_rate = settings.number("rl.critic_lr");
  rl.rl.critic_warm_up = settings.whole("rl.critic_warm_up");
  GuardOptions& guard = rl.rl.guard;
  guard.most_kl = settings.number("rl.guard_kl");
  guard.least_entropy = settings.number("rl.guard_least_entropy");
  guard.most_entropy = settings.number("rl.guard_most_entropy");
  guard.most_fall = settings.number("rl.guard_fall");
  guard.patience = settings.whole<int>("rl.guard_patience");
  guard.cut = settings.number("rl.guard_cut");
  guard.most_cuts = settings.whole<int>("rl.guard_cuts");
}

void set_conversations(SettingReader& settings, RlArguments& rl) {
  ReinforceOptions& options = rl.rl;
  options.tasks = settings.whole("rl.tasks");
  options.group = settings.whole("rl.group");
  options.episode.turns = settings.whole<int>("rl.turns");
  options.episode.temperature = static_cast<float>(settings.number("rl.temperature"));
  options.episode.answer_tokens = settings.whole("rl.answer_tokens");
  options.episode.constrain = settings.flag("model.constrain");
  options.ahead = settings.whole("rl.ahead");
  options.in_flight = settings.whole<std::size_t>("rl.in_flight");
  options.keep_conversations = settings.whole("rl.keep_conversations");
  rl.stop_reward = settings.number("rl.stop_reward");
  options.refills = settings.whole<int>("rl.refills");
  options.credit.overlong_buffer = settings.whole("rl.overlong");
  rl.credit = settings.text("rl.credit");
  CreditOptions& credit = options.credit;
  credit.overlong_penalty = settings.number("rl.overlong_penalty");
  credit.final_share.immediate = settings.number("rl.credit_immediate");
  credit.final_share.final_share = settings.number("rl.credit_final");
  credit.final_share.discount = settings.number("rl.credit_final_discount");
  credit.discount = settings.number("rl.credit_discount");
}

}  // namespace

Result<RlArguments> rl_arguments(SettingReader& settings) {
  RlArguments rl;
  rl.configuration = settings.configuration();
  rl.model = settings.text("model.start");
  rl.algorithm = settings.text("rl.algorithm");
  // Adapters on a base in 4 bits are adapters.
  rl.quantised = settings.text("model.method") == "qlora";
  rl.method = rl.quantised ? "lora" : settings.text("model.method");
  rl.eight_bit = settings.text("model.moment_bits") == "8";
  rl.gpu_memory_gib = settings.number("model.gpu_memory");
  rl.rank = settings.whole("model.rank");
  rl.alpha = settings.number("model.alpha");
  rl.device = settings.text("model.device");
  rl.threads = settings.whole<int>("model.threads");
  set_length(settings, "rl", rl.rl);
  set_update(settings, rl);
  set_conversations(settings, rl);
  set_reward(settings, rl);
  rl.curriculum = settings.text("curriculum.kind");
  rl.rules = curriculum_rules(settings);
  rl.pool = settings.whole<std::size_t>("curriculum.pool");
  KW_TRY(rl.families, families_of(settings));
  KW_TRY(rl.judge, judge_options(settings));
  rl.rl.judge_workers = rl.judge.workers;
  rl.exam = settings.whole<std::size_t>("rl.exam");
  rl.exam_temperature = settings.number("rl.exam_temperature");
  rl.exam_samples = settings.whole("rl.exam_samples");
  rl.exam_seed = settings.whole<std::uint64_t>("evaluation.seed");
  rl.rl.evaluations = static_cast<double>(settings.whole("rl.evaluations"));
  rl.rl.checkpoint_every = settings.whole("rl.checkpoint_every");
  rl.rl.seed = settings.whole<std::uint64_t>("run.seed");
  rl.keep_checkpoints = settings.whole<int>("run.keep_checkpoints");
  rl.rl.slots = settings.whole("run.slots");
  return rl;
}

Result<EvaluateArguments> evaluation_arguments(SettingReader& settings) {
  EvaluateArguments evaluation;
  evaluation.model = settings.text("model.start");
  evaluation.exams = settings.list("evaluation.exams");
  evaluation.splits = settings.list("evaluation.splits");
  evaluation.tasks = settings.whole<std::size_t>("evaluation.tasks");
  evaluation.optimizer_tasks = settings.whole<std::size_t>("evaluation.optimizer_tasks");
  evaluation.samples = settings.whole("evaluation.samples");
  evaluation.temperature = settings.number("evaluation.temperature");
  evaluation.max_tokens = settings.whole("evaluation.answer_tokens");
  evaluation.constrain = settings.flag("model.constrain");
  evaluation.seed = settings.whole<std::uint64_t>("evaluation.seed");
  const int turns = settings.whole<int>("evaluation.turns"), in_training = settings.whole<int>("rl.turns");
  evaluation.turns = turns > 0 ? turns : in_training;
  evaluation.device = settings.text("model.device");
  evaluation.threads = settings.whole<int>("model.threads");
  KW_TRY(evaluation.judge, judge_options(settings));
  evaluation.judge.purpose = JudgePurpose::exam;
  RlArguments reward;
  set_reward(settings, reward);
  KW_TRY(evaluation.worth, reward_shape_for(reward, std::nullopt));
  return evaluation;
}

Result<Configuration> stage_alone(Configuration configuration, std::string_view stage) {
  for (const char* each : {"sft", "compatibility", "rl", "evaluation"})
    KW_TRY_VOID(configuration.set(fmt::format("{}.enabled={}", each, stage == each), "the stage"));
  KW_TRY_VOID(configuration.set("run.report=false", "the stage"));
  return configuration;
}

Result<Configuration> compatibility_as_sft(Configuration configuration) {
  const std::string origin = "compatibility";
  for (const char* key : {"steps", "minutes", "lr", "own_share"})
    configuration.copy_value(fmt::format("compatibility.{}", key), fmt::format("sft.{}", key), origin);
  // Other lessons than those of stage 1, whose easy beginning is over.
  KW_TRY_VOID(configuration.set(fmt::format("run.seed={}", configuration.whole("run.seed") + 1), origin));
  for (const char* climbed : {"sft.ramp=0", "sft.generate_first=0", "sft.drill=0"})
    KW_TRY_VOID(configuration.set(climbed, origin));
  return stage_alone(std::move(configuration), "sft");
}

Result<void> settle(Configuration& configuration) {
  const std::string start = configuration.text("model.start");
  const auto shapes = preset_names();
  if (std::ranges::find(shapes, start) != shapes.end() && start != "smollm2-135m") {
    KW_TRY_VOID(configuration.set("model.shape=" + start, configuration.origin("model.start")));
    KW_TRY_VOID(configuration.set("model.start=nothing", configuration.origin("model.start")));
  }
  for (const char* key : {"model.start", "data.store", "sft.conversations"}) {
    if (looks_like_endpoint(configuration.text(key))) continue;
    const fs::path path = configuration.text(key);
    // A name alone may be that of a model or run, unless it is a file.
    std::error_code ignored;
    const bool named = !path.has_parent_path() && !fs::is_regular_file(path, ignored);
    if (path.empty() || path.is_absolute() || (named && std::string_view(key) == "model.start")) continue;
    const std::string whole = fs::absolute(path).lexically_normal().string();
    KW_TRY_VOID(configuration.set(fmt::format("{}={}", key, whole), configuration.origin(key)));
  }
  return {};
}

}  // namespace kw
