#include "base/config/schema.h"

#include <algorithm>
#include <array>

namespace kw {
namespace {

using enum SettingKind;

constexpr double many = 1e12;

constexpr Setting data_settings[] = {
    {"data.store", text, "", "folder of judged kernels (data make); empty: made in the run's folder"},
    {"data.tasks", whole, "400", "generated tasks to judge when the store is made", 1, 1e7},
    {"data.mutants", whole, "3", "broken kernels of each, to learn repairs from", 0, 100},
    {"data.families", list, "[]", "families of generated tasks; empty: all that training may see"},
    {"data.seed", whole, "1", "seed of the store's tasks and kernels", 0, many},
};

constexpr Setting tokenizer_settings[] = {
    {"tokenizer.vocabulary", whole, "2048", "tokens of a new vocabulary; a pretrained model has its own", 512, 65536},
    {"tokenizer.tasks", whole, "20000", "generated tasks that it is trained on", 100, 1e7},
};

constexpr Setting model_settings[] = {
    {"model.start", text, "tiny",
     "agents to start from: tiny, smollm2, a run, a folder with agents.json, a model's folder or GGUF file; nothing, "
     "or "
     "a shape: a new model"},
    {"model.shape", text, "tiny-6m", "shape of a model that starts from nothing: tiny-1m to small-60m"},
    {"model.method", word, "auto",
     "all weights, an adapter for each role, or adapters on a base in 4 bits; auto: lora where the start has adapters, "
     "else full",
     0, 0, "auto full lora qlora"},
    {"model.rank", whole, "16", "rank of adapters", 1, 256},
    {"model.alpha", number, "32", "adapters are scaled by alpha / rank", 0.001, 4096},
    {"model.device", word, "auto", "where the model is trained and sampled", 0, 0, "auto cpu gpu"},
    {"model.gpu_memory", number, "0", "GiB of a GPU's memory that training takes at most; 0: no limit", 0, 4096},
    {"model.moment_bits", word, "32", "bits of the optimizer's moments; 8 on a GPU: of adapters alone", 0, 0, "32 8"},
    {"model.threads", whole, "0", "threads on the CPU; 0: all cores", 0, 1024},
    {"model.constrain", flag, "true",
     "answers are held to what is known while they are sampled: the launcher's parameters, headers, brackets"},
};

constexpr Setting sft_settings[] = {
    {"sft.enabled", flag, "true", "supervised training at all"},
    {"sft.steps", whole, "0", "gradient steps; 0: as many as fit into minutes", 0, 1e9},
    {"sft.minutes", number, "5", "time for training, evaluations not counted; ignored when steps are given", 0, 1e5},
    {"sft.batch", whole, "8192", "tokens of a step, about: whole lessons", 64, 1e8},
    {"sft.pass", whole, "65536", "tokens that are in memory at once", 64, 1e8},
    {"sft.optimizer", word, "adamw", "muon: for matrices, AdamW for the rest", 0, 0, "adamw muon"},
    {"sft.lr", number, "0.002", "peak learning rate", 0, 1},
    {"sft.schedule", word, "cosine", "how the learning rate falls", 0, 0, "constant linear cosine"},
    {"sft.warm_up", number, "0.02", "share of the steps in which the learning rate rises", 0, 1},
    {"sft.last_lr", number, "0.02", "share of the peak that is left at the end", 0, 1},
    {"sft.beta1", number, "0.9", "AdamW: memory of the gradient", 0, 0.9999},
    {"sft.beta2", number, "0.95", "AdamW: memory of its square", 0, 0.999999},
    {"sft.weight_decay", number, "0.01", "weight decay of AdamW", 0, 10},
    {"sft.clip_norm", number, "1", "longest gradient; 0: never clipped", 0, 1e6},
    {"sft.generate", number, "1", "share of lessons task -> kernel", 0, 1e3},
    {"sft.optimise", number, "0", "share of lessons kernel and verdict -> faster kernel", 0, 1e3},
    {"sft.repair", number, "0", "share of lessons broken kernel and verdict -> right kernel", 0, 1e3},
    {"sft.report", number, "0", "share of lessons kernel -> verdict, for the Tester", 0, 1e3},
    {"sft.house_style", number, "0.8", "share of answers in one style", 0, 1},
    {"sft.formulas", number, "0", "share of those that write expressions as the task does", 0, 1},
    {"sft.drill", number, "0", "share of those that stop where the kernel begins", 0, 1},
    {"sft.generate_first", whole, "0", "lessons task -> kernel before any of another kind", 0, many},
    {"sft.ramp", whole, "0", "lessons over which tasks grow from short ones to all", 0, many},
    {"sft.level_named", number, "0.5", "share of Generator's prompts that ask for a level", 0, 1},
    {"sft.plain", number, "0.5", "share of naive kernels where no level is asked for", 0, 1},
    {"sft.rewrite", number, "0.5", "share of repairs that write the kernel anew", 0, 1},
    {"sft.unjudged", number, "0.5", "share of optimise lessons on tasks that are not in the store", 0, 1},
    {"sft.tried", number, "0.4", "share of Optimizer's prompts that name kernels tried before", 0, 1},
    {"sft.longest", whole, "2048", "tokens of a lesson; longer ones are left out and counted", 64, 131072},
    {"sft.evaluations", whole, "4", "exams spread over the run; the best of these states is kept; 0: none", 0, 1e4},
    {"sft.exam", whole, "64", "held-out tasks of such an exam; 0: the loss alone", 0, 1e6},
    {"sft.optimizer_exam", whole, "24", "kernels to improve in it, and as many to repair", 0, 1e6},
    {"sft.audit", number, "0.01", "share of generated kernels that is judged in the background", 0, 1},
    {"sft.conversations", text, "", "store of conversations (train gather) whose good answers are lessons too"},
    {"sft.own_share", number, "0.5", "share of lessons from these conversations", 0, 1},
    {"sft.adapters", list, "[]", "adapters to start from: [generator=FOLDER, optimizer=FOLDER]"},
    {"sft.log_every", whole, "20", "steps between lines of the log", 1, 1e9},
    {"sft.checkpoint_every", whole, "0", "steps between checkpoints, besides those with an exam", 0, 1e9},
    {"sft.producers", whole, "0", "threads that make lessons; 0: as the machine allows", 0, 1024},
};

constexpr Setting compatibility_settings[] = {
    {"compatibility.enabled", flag, "true", "stage 1.5: training on answers of the agents themselves that worked"},
    {"compatibility.tasks", whole, "64", "tasks that the agents talk about", 1, 1e7},
    {"compatibility.first", whole, "0", "index of the first of these tasks in the stream", 0, many},
    {"compatibility.turns", whole, "2", "turns of a conversation, at most", 1, 5},
    {"compatibility.samples", whole, "4", "answers of each turn", 1, 64},
    {"compatibility.temperature", number, "1", "sampling temperature", 0.01, 10},
    {"compatibility.own_share", number, "0.5", "of lessons from these conversations; the rest as in sft", 0, 1},
    {"compatibility.steps", whole, "0", "gradient steps; 0: as many as fit into minutes", 0, 1e9},
    {"compatibility.minutes", number, "2", "time for training; ignored when steps are given", 0, 1e5},
    {"compatibility.lr", number, "0.0002", "peak learning rate", 0, 1},
};

constexpr Setting rl_settings[] = {
    {"rl.enabled", flag, "true", "reinforcement learning at all"},
    {"rl.algorithm", word, "grpo", "how answers are compared and learned from", 0, 0, "ppo grpo dr_grpo rloo dapo"},
    {"rl.steps", whole, "0", "updates; 0: as many as fit into minutes", 0, 1e9},
    {"rl.minutes", number, "6", "time for training, exams not counted; ignored when steps are given", 0, 1e5},
    {"rl.tasks", whole, "16", "tasks of a step", 1, 4096},
    {"rl.group", whole, "8", "conversations about each, which are compared with each other", 1, 256},
    {"rl.turns", whole, "2", "turns of a conversation", 1, 5},
    {"rl.stop_reward", number, "0", "a conversation ends when a kernel is worth so much; 0: never", 0, 10},
    {"rl.ahead", whole, "0", "steps whose conversations are held while earlier ones are learned from; 0: none", 0, 4},
    {"rl.in_flight", whole, "256", "conversations at a time; judge and model work on different ones", 1, 65536},
    {"rl.temperature", number, "1", "sampling temperature; log-probabilities are taken at it too", 0.01, 10},
    {"rl.answer_tokens", whole, "1024", "longest answer", 16, 131072},
    {"rl.epochs", whole, "1", "times that the samples of a step are learned from", 1, 64},
    {"rl.mini_batches", whole, "1", "gradient steps of an epoch", 1, 1024},
    {"rl.pass", whole, "8192", "tokens that are in memory at once", 64, 1e8},
    {"rl.clip", number, "0.2", "how far a token may become less likely before it no longer counts", 0, 1},
    {"rl.clip_high", number, "0.2", "how far more likely", 0.001, 10},
    {"rl.clip_dual", number, "3", "bound of the loss for negative advantages, in advantages", 1, 100},
    {"rl.kl", number, "0", "weight of the distance to the start; 0: none", 0, 100},
    {"rl.kl_estimator", word, "k3", "how the distance is estimated from samples", 0, 0, "k1 k2 k3"},
    {"rl.kl_target", number, "0", "distance a token that the weight is adapted to; 0: the weight is fixed", 0, 100},
    {"rl.kl_horizon", number, "10000", "answers over which the weight follows", 1, many},
    {"rl.entropy_bonus", number, "0", "weight of a bonus for variety; below 0: for certainty", -10, 10},
    {"rl.most_importance", number, "2", "largest correction for differences between sampler and trainer", 1, 1e3},
    {"rl.gamma", number, "1", "PPO: discount from token to token", 0, 1},
    {"rl.lambda", number, "0.95", "PPO: lambda of generalised advantage estimation", 0, 1},
    {"rl.value_clip", number, "0.5", "PPO: how far a value may move in one step before it no longer counts", 0, 1e6},
    {"rl.critic_lr", number, "0.0001", "PPO: learning rate of the critic", 1e-12, 1},
    {"rl.critic_warm_up", whole, "0", "PPO: steps in which the critic learns alone", 0, 1e6},
    {"rl.refills", whole, "0", "further draws for tasks that taught nothing", 0, 100},
    {"rl.overlong", whole, "0", "last tokens before the longest answer that cost; 0: none do", 0, 131072},
    {"rl.overlong_penalty", number, "1", "what they cost at the limit", 0, 10},
    {"rl.credit", word, "later", "how turns share what came out of a conversation (docs/reward.md)", 0, 0,
     "final later leave_one_out"},
    {"rl.credit_immediate", number, "0.3", "final: share of a turn's own reward", 0, 1},
    {"rl.credit_final", number, "0.7", "final: share of the conversation's", 0, 1},
    {"rl.credit_final_discount", number, "0.9", "final: for each turn that comes after", 0, 1},
    {"rl.credit_discount", number, "0.4", "later, leave_one_out: of each later turn; 0: its own reward alone", 0, 1},
    {"rl.optimizer", word, "adamw", "muon: for matrices, AdamW for the rest", 0, 0, "adamw muon"},
    {"rl.lr", number, "0.00005", "learning rate", 1e-12, 1},
    {"rl.warm_up", whole, "5", "steps in which the learning rate rises", 0, 1e6},
    {"rl.last_lr", number, "1", "share of the learning rate that is left at the last step; ignored with minutes", 0, 1},
    {"rl.beta1", number, "0.9", "AdamW: memory of the gradient", 0, 0.9999},
    {"rl.beta2", number, "0.95", "AdamW: memory of its square", 0, 0.999999},
    {"rl.weight_decay", number, "0", "weight decay of AdamW", 0, 10},
    {"rl.clip_norm", number, "1", "longest gradient; 0: never clipped", 0, 1e6},
    {"rl.guard_kl", number, "0.5", "largest distance a token from the start, where it is measured", 0, 1e6},
    {"rl.guard_least_entropy", number, "0.1", "smallest entropy, as a share of that of the first steps", 0, 1},
    {"rl.guard_most_entropy", number, "5", "largest entropy, as a multiple of that of the first steps", 1, 1e6},
    {"rl.guard_fall", number, "0.5", "share of the best pass rate that may be lost", 0, 1},
    {"rl.guard_patience", whole, "3", "bad steps in a row before the learning rate is lowered", 1, 1e6},
    {"rl.guard_cut", number, "0.5", "factor of the learning rate, each time", 0, 1},
    {"rl.guard_cuts", whole, "3", "times that it is lowered before the run is stopped", 0, 1e6},
    {"rl.evaluations", whole, "1", "exams spread over the run, besides the one before it", 0, 1e4},
    {"rl.exam", whole, "0", "held-out tasks of such an exam; 0: none", 0, 1e6},
    {"rl.exam_samples", whole, "1", "conversations about each of them, sampled as training does", 1, 1024},
    {"rl.exam_temperature", number, "-1", "sampling temperature of exams; 0: the likeliest answers; -1: as training",
     -1, 10},
    {"rl.checkpoint_every", whole, "10", "steps between checkpoints", 1, 1e9},
    {"rl.keep_conversations", whole, "10", "steps between conversations that are kept to read; 0: none", 0, 1e9},
};

constexpr Setting curriculum_settings[] = {
    {"curriculum.kind", word, "tiers",
     "tiers 0 to 3, one after the other; lower rates and rising speedup; or all tasks", 0, 0,
     "tiers easy_medium_hard none"},
    {"curriculum.pool", whole, "2000", "training tasks to draw from", 1, 1e6},
    {"curriculum.compile_rate", number, "0.9", "tiers: share of answers that compile before the next tier opens", 0, 1},
    {"curriculum.pass_rate", number, "0.75", "tiers: share of answers that are right before the next tier opens", 0, 1},
    {"curriculum.answers", whole, "200", "answers on a tier, at least, before the next one opens", 1, 1e9},
    {"curriculum.window", whole, "400", "latest answers of a tier that are looked at", 1, 1e7},
    {"curriculum.review", number, "0.2", "share of draws from earlier tiers", 0, 1},
    {"curriculum.least_weight", number, "0.1", "of a task, against one that is right half of the time", 0, 1},
    {"curriculum.memory", number, "0.98", "a task's old answers fade by this with each new one", 0, 1},
};

constexpr Setting reward_settings[] = {
    {"reward.shape", word, "weighted", "which formula (docs/reward.md)", 0, 0, "gated weighted final hardware"},
    {"reward.terms", list, "[]", "other weights of terms, for both roles: [speed=0.5, quality=0.1]"},
    {"reward.gate", word, "shape", "0 unless it compiles and is right: as the formula has it, always, or never", 0, 0,
     "shape always never"},
    {"reward.speed_scale", word, "log", "log: twice as fast is worth the same everywhere", 0, 0, "linear log"},
    {"reward.target_speedup", number, "8", "speedup over the baseline that earns the whole term", 1.001, 1e4},
    {"reward.improvement_target", number, "2",
     "speedup over the kernel that the Optimizer got that earns the whole term", 1.001, 1e4},
    {"reward.repair", number, "0.5", "improvement of a right kernel over one that was wrong", 0, 10},
};

constexpr Setting judge_settings[] = {
    {"judge.on", text, "auto",
     "where kernels are judged: auto (a GPU where there is one), emulator, gpu, or services: "
     "http://a:8000,http://b:8000 "
     "(docs/judges.md)"},
    {"judge.secret_file", text, "", "file with the secret that these services share; empty: this machine's own"},
    {"judge.profile", text, "", "device that times are modelled for (profiles/); empty: h200, or the GPU's own"},
    {"judge.workers", whole, "0", "kernels at a time; 0: as the machine allows", 0, 1024},
    {"judge.cache", flag, "true", "verdicts and compiled kernels are kept on disk"},
};

constexpr Setting evaluation_settings[] = {
    {"evaluation.enabled", flag, "true", "the agents before, after SFT and after RL on the same held-out tasks"},
    {"evaluation.tasks", whole, "64", "held-out tasks of each split", 1, 1e5},
    {"evaluation.splits", list, "[composition, novel]", "what is reported apart", 0, 0, "composition novel suite"},
    {"evaluation.exams", list, "[generator]", "who is examined; optimizer: kernels to improve and to repair", 0, 0,
     "generator optimizer tester"},
    {"evaluation.turns", whole, "0", "turns of a conversation, whose first turn is the single answer; 0: as rl.turns",
     0, 20},
    {"evaluation.samples", whole, "1", "conversations about a task; more than one also gives pass@k", 1, 1024},
    {"evaluation.temperature", number, "0", "sampling temperature; 0: the likeliest answer", 0, 10},
    {"evaluation.optimizer_tasks", whole, "0", "kernels to improve, and as many to repair; 0: as many as tasks", 0,
     1e5},
    {"evaluation.answer_tokens", whole, "1024", "longest answer", 16, 131072},
    {"evaluation.seed", whole, "7001", "seed of the tasks and samples", 0, many},
};

constexpr Setting run_settings[] = {
    {"run.seed", whole, "1", "seed of everything that is drawn, unless a section has its own", 0, many},
    {"run.keep_checkpoints", whole, "2", "newest checkpoints of each stage that are kept, besides the best", 1, 1000},
    {"run.slots", whole, "0",
     "parts of a step that ranks share, a power of two; with as many, any number of ranks ends with the same bits; 0: "
     "8 "
     "with ranks, else 1",
     0, 1024},
    {"run.report", flag, "true", "report.html at the end"},
};

constexpr SettingSection sections[] = {
    {"data", "Tasks and kernels to learn from", data_settings},
    {"tokenizer", "The vocabulary of a model from nothing", tokenizer_settings},
    {"model", "Who learns", model_settings},
    {"sft", "Stage 1: supervised training", sft_settings},
    {"compatibility", "Stage 1.5: on conversations of the agents themselves", compatibility_settings},
    {"rl", "Stage 2: reinforcement learning", rl_settings},
    {"curriculum", "Which task next", curriculum_settings},
    {"reward", "What a verdict is worth", reward_settings},
    {"judge", "Who says what a kernel is worth", judge_settings},
    {"evaluation", "What was learned", evaluation_settings},
    {"run", "The run itself", run_settings},
};

// DAPO: arXiv 2503.14476; PPO: 1707.06347. What an algorithm is (its advantages, its mean over tokens) is no setting.
constexpr AlgorithmDefault by_algorithm[] = {
    {"ppo", "rl.mini_batches", "4"}, {"ppo", "rl.critic_warm_up", "5"}, {"dapo", "rl.clip_high", "0.28"},
    {"dapo", "rl.refills", "2"},     {"dapo", "rl.overlong", "64"},
};

// Who looks at a key, by bits; `train` looks at all of them.
constexpr unsigned bit(SettingUser user) { return 1u << static_cast<unsigned>(user); }
constexpr unsigned sft = bit(SettingUser::sft), gather = bit(SettingUser::gather), rl = bit(SettingUser::rl),
                   evaluate = bit(SettingUser::evaluate), nobody = 0;

struct KeyUsers {
  std::string_view key;  // a section, or a key that differs from its section
  unsigned users;
};
constexpr KeyUsers users_of_keys[] = {
    {"data", nobody},
    {"data.store", sft},
    {"data.families", sft | gather | rl},
    {"tokenizer", sft},
    {"model", sft | gather | rl | evaluate},
    {"model.shape", sft},
    {"model.method", sft | rl},
    {"model.rank", sft | rl},
    {"model.gpu_memory", sft | rl},
    {"model.moment_bits", sft | rl},
    {"model.alpha", sft | rl},
    {"sft", sft},
    {"sft.enabled", nobody},
    {"compatibility", nobody},
    {"compatibility.tasks", gather},
    {"compatibility.first", gather},
    {"compatibility.turns", gather},
    {"compatibility.samples", gather},
    {"compatibility.temperature", gather},
    {"rl", rl},
    {"rl.enabled", nobody},
    {"rl.turns", rl | evaluate},
    {"rl.answer_tokens", rl | gather},
    {"curriculum", rl},
    {"reward", rl | evaluate},
    {"judge", sft | gather | rl | evaluate},
    {"evaluation", evaluate},
    {"evaluation.enabled", nobody},
    {"evaluation.seed", sft | rl | evaluate},
    {"evaluation.answer_tokens", sft | evaluate},
    {"run.seed", sft | gather | rl},
    {"run.keep_checkpoints", sft | rl},
    {"run.slots", sft | rl},
    {"run.report", nobody},
};

// Names by which people ask for a key of another section than the command's own.
struct UsualName {
  std::string_view key, option;
  unsigned users;
};
constexpr unsigned train = bit(SettingUser::train), everybody = train | sft | gather | rl | evaluate;
constexpr UsualName usual_names[] = {
    {"data.store", "store", train | sft},
    {"data.families", "families", everybody},
    {"tokenizer.vocabulary", "vocabulary", sft},
    {"tokenizer.tasks", "vocabulary-tasks", sft},
    {"model.start", "model", train | sft | gather | rl},  // `evaluate MODEL` has it without a dash
    {"model.shape", "shape", train | sft},
    {"model.method", "method", everybody},
    {"model.rank", "rank", everybody},
    {"model.alpha", "alpha", everybody},
    {"model.device", "device", everybody},
    {"model.gpu_memory", "gpu-memory", train | sft | rl},
    {"model.moment_bits", "moment-bits", train | sft | rl},
    {"model.threads", "threads", everybody},
    {"model.constrain", "constrain", everybody},
    {"sft.adapters", "adapter", sft},
    {"rl.algorithm", "algorithm", train},
    {"rl.answer_tokens", "answer-tokens", gather},
    {"curriculum.kind", "curriculum", train | rl},
    {"curriculum.pool", "pool", rl},
    {"reward.shape", "reward", train | rl | evaluate},
    {"reward.terms", "reward-term", train | rl | evaluate},
    {"reward.speed_scale", "speed-scale", rl | evaluate},
    {"reward.target_speedup", "target-speedup", rl | evaluate},
    {"judge.on", "backend", everybody},
    {"judge.profile", "profile", everybody},
    {"judge.cache", "cache", everybody},
    {"evaluation.splits", "split", evaluate},
    {"evaluation.exams", "exam", evaluate},
    {"evaluation.answer_tokens", "answer-tokens", sft},
    {"evaluation.answer_tokens", "max-tokens", evaluate},
    {"evaluation.seed", "exam-seed", sft | rl},
    {"run.seed", "seed", train | sft | gather | rl},
    {"run.slots", "slots", train | sft | rl},
};

std::string_view section_of(std::string_view key) { return key.substr(0, key.find('.')); }

// Keys of this section go without its name.
std::string_view own_section(SettingUser user) {
  switch (user) {
    case SettingUser::train:
      return "";
    case SettingUser::sft:
      return "sft";
    case SettingUser::gather:
      return "compatibility";
    case SettingUser::rl:
      return "rl";
    case SettingUser::evaluate:
      return "evaluation";
  }
  return "";
}

std::string with_dashes(std::string_view name) {
  std::string text(name);
  std::ranges::replace(text, '_', '-');
  std::ranges::replace(text, '.', '-');
  return text;
}

}  // namespace

std::string_view command_of(SettingUser user) {
  static constexpr std::string_view names[] = {"train", "train sft", "train gather", "train rl", "evaluate"};
  return names[static_cast<std::size_t>(user)];
}

bool is_used_by(const Setting& setting, SettingUser user) {
  if (user == SettingUser::train) return true;
  const KeyUsers* found = nullptr;
  for (const KeyUsers& entry : users_of_keys)
    if (entry.key == setting.key || (found == nullptr && entry.key == section_of(setting.key))) found = &entry;
  return found != nullptr && (found->users & bit(user)) != 0;
}

std::vector<std::string> option_names(const Setting& setting, SettingUser user) {
  std::vector<std::string> names;
  const std::string_view section = section_of(setting.key);
  if (section == own_section(user)) names.push_back(with_dashes(setting.key.substr(section.size() + 1)));
  for (const UsualName& usual : usual_names)
    if (usual.key == setting.key && (usual.users & bit(user)) != 0) names.emplace_back(usual.option);
  names.push_back(with_dashes(setting.key));
  return names;
}

std::span<const SettingSection> setting_sections() { return sections; }

const Setting* find_setting(std::string_view key) {
  for (const SettingSection& section : sections)
    for (const Setting& setting : section.settings)
      if (setting.key == key) return &setting;
  return nullptr;
}

std::vector<std::string> words_of(const Setting& setting) {
  std::vector<std::string> words;
  for (std::string_view rest = setting.words; !rest.empty();) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    words.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return words;
}

std::span<const AlgorithmDefault> algorithm_defaults() { return by_algorithm; }

}  // namespace kw
