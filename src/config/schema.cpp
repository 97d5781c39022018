#include "config/schema.h"

#include <algorithm>
#include <array>

namespace kw {
namespace {

using enum SettingKind;

constexpr double many = 1e12;

constexpr Setting data_settings[] = {
    {"data.store", text, "", "folder of judged kernels (data make); empty: made in the run's folder"},
    {"data.tasks", whole, "400", "generated tasks to judge when the store is made", 1, 1e7},
    {"data.families", list, "[]", "families of generated tasks; empty: all that training may see"},
    {"data.seed", whole, "1", "of tasks and kernels", 0, many},
    {"data.audit", number, "0.01", "share of streamed examples that is judged in the background", 0, 1},
};

constexpr Setting tokenizer_settings[] = {
    {"tokenizer.vocabulary", whole, "2048", "tokens of a new vocabulary; a pretrained model has its own", 512, 65536},
    {"tokenizer.tasks", whole, "20000", "generated tasks that it is trained on", 100, 1e7},
};

constexpr Setting model_settings[] = {
    {"model.start", text, "tiny",
     "agents to start from: tiny, smollm2, a folder with agents.json, a model's folder or GGUF file; nothing: see "
     "shape"},
    {"model.shape", text, "tiny-6m", "shape of a model that starts from nothing: tiny-1m to small-60m"},
    {"model.method", word, "full", "all weights, an adapter for each role, or adapters on a base in 4 bits", 0, 0,
     "full lora qlora"},
    {"model.rank", whole, "16", "of adapters", 1, 256},
    {"model.alpha", number, "32", "adapters are scaled by alpha / rank", 0.001, 4096},
    {"model.device", word, "auto", "where the model is trained and sampled", 0, 0, "auto cpu gpu"},
    {"model.threads", whole, "0", "of the CPU; 0: all cores", 0, 1024},
};

constexpr Setting sft_settings[] = {
    {"sft.enabled", flag, "true", "supervised training at all"},
    {"sft.steps", whole, "0", "gradient steps; 0: as many as fit into minutes", 0, 1e9},
    {"sft.minutes", number, "5", "time for training, evaluations not counted; of no use when steps are given", 0, 1e5},
    {"sft.batch_tokens", whole, "8192", "tokens of a step, about: whole lessons", 64, 1e8},
    {"sft.pass_tokens", whole, "65536", "tokens of one forward and backward", 64, 1e8},
    {"sft.optimizer", word, "adamw", "muon: for matrices, AdamW for the rest", 0, 0, "adamw muon"},
    {"sft.lr", number, "0.002", "peak learning rate", 0, 1},
    {"sft.schedule", word, "cosine", "how the learning rate falls", 0, 0, "constant linear cosine"},
    {"sft.warm_up", number, "0.02", "share of the steps in which the learning rate rises", 0, 1},
    {"sft.last_lr", number, "0.02", "share of the peak that is left at the end", 0, 1},
    {"sft.beta1", number, "0.9", "AdamW: memory of the gradient", 0, 0.9999},
    {"sft.beta2", number, "0.95", "AdamW: memory of its square", 0, 0.999999},
    {"sft.weight_decay", number, "0.01", "AdamW's", 0, 10},
    {"sft.clip_norm", number, "1", "longest gradient; 0: never clipped", 0, 1e6},
    {"sft.eight_bit", flag, "false", "moments of AdamW in 8 bits"},
    {"sft.generate", number, "1", "share of lessons task -> kernel", 0, 1e3},
    {"sft.optimise", number, "0", "share of lessons kernel and verdict -> faster kernel", 0, 1e3},
    {"sft.repair", number, "0", "share of lessons broken kernel and verdict -> right kernel", 0, 1e3},
    {"sft.report", number, "0", "share of lessons kernel -> verdict, for the Tester", 0, 1e3},
    {"sft.house_style", number, "0.8", "share of answers in one style", 0, 1},
    {"sft.level_named", number, "0.5", "share of Generator's prompts that ask for a level", 0, 1},
    {"sft.plain_unnamed", number, "0.5", "share of naive kernels where no level is asked for", 0, 1},
    {"sft.rewrite", number, "0.5", "share of repairs that write the kernel anew", 0, 1},
    {"sft.tried", number, "0.4", "share of Optimizer's prompts that name kernels tried before", 0, 1},
    {"sft.longest", whole, "2048", "tokens of a lesson; longer ones are left out and counted", 64, 131072},
    {"sft.evaluations", whole, "4", "exams spread over the run; 0: none", 0, 1e4},
    {"sft.log_every", whole, "20", "steps", 1, 1e9},
    {"sft.producers", whole, "0", "threads that make lessons; 0: as the machine allows", 0, 1024},
};

constexpr Setting compatibility_settings[] = {
    {"compatibility.enabled", flag, "true", "stage 1.5: training on conversations that succeeded"},
    {"compatibility.episodes", whole, "64", "conversations that the agents have", 1, 1e7},
    {"compatibility.turns", whole, "3", "of a conversation at most", 1, 5},
    {"compatibility.temperature", number, "0.8", "of the samples", 0.01, 10},
    {"compatibility.least_reward", number, "0.5", "of the conversations that are learned from", -10, 10},
    {"compatibility.epochs", whole, "2", "times that each of them is seen", 1, 100},
    {"compatibility.lr", number, "0.0002", "learning rate", 0, 1},
    {"compatibility.minutes", number, "2", "time for the conversations and the training together", 0.01, 1e5},
};

constexpr Setting rl_settings[] = {
    {"rl.enabled", flag, "true", "reinforcement learning at all"},
    {"rl.algorithm", word, "grpo", "how answers are compared and learned from", 0, 0, "ppo grpo dr_grpo rloo dapo"},
    {"rl.steps", whole, "0", "updates; 0: as many as fit into minutes", 0, 1e9},
    {"rl.minutes", number, "6", "time for it, evaluations not counted; of no use when steps are given", 0, 1e5},
    {"rl.roles", list, "[generator, optimizer]", "who learns", 0, 0, "generator optimizer"},
    {"rl.groups", whole, "16", "tasks of a step", 1, 65536},
    {"rl.samples", whole, "8", "conversations of a task, which are compared with each other", 1, 1024},
    {"rl.turns", whole, "3", "of a conversation at most", 1, 5},
    {"rl.stop_reward", number, "0.8", "a conversation ends early at this reward", 0, 10},
    {"rl.in_flight", whole, "64", "conversations at a time; judge and model work on different ones", 1, 65536},
    {"rl.temperature", number, "1", "of the samples; log-probabilities are taken at it too", 0.01, 10},
    {"rl.answer_tokens", whole, "1024", "longest answer", 16, 131072},
    {"rl.truncated", word, "penalise", "answers that reach the limit: learned from as failures, or left out", 0, 0,
     "penalise mask"},
    {"rl.epochs", whole, "1", "times that the samples of a step are learned from", 1, 64},
    {"rl.minibatches", whole, "1", "updates of an epoch", 1, 1024},
    {"rl.pass_tokens", whole, "16384", "tokens of one forward and backward", 64, 1e8},
    {"rl.clip_low", number, "0.2", "how far a token may become less likely before it no longer counts", 0, 1},
    {"rl.clip_high", number, "0.2", "how far more likely", 0, 10},
    {"rl.clip_dual", number, "3", "bound of the loss for negative advantages, in advantages", 1, 100},
    {"rl.loss_mean", word, "tokens", "over all tokens alike, or over answers by sum or mean of their tokens", 0, 0,
     "tokens answers_token_sum answers_token_mean"},
    {"rl.kl", number, "0.02", "weight of the distance to the supervised start", 0, 100},
    {"rl.kl_estimator", word, "k3", "how the distance is estimated from samples", 0, 0, "k1 k2 k3"},
    {"rl.kl_place", word, "loss", "a term of the loss, or taken off the reward of each token", 0, 0, "loss reward"},
    {"rl.kl_adaptive", flag, "false", "the weight follows kl_target"},
    {"rl.kl_target", number, "0.05", "distance a token", 0, 100},
    {"rl.kl_horizon", number, "10000", "answers over which the weight follows", 1, many},
    {"rl.entropy", number, "0", "weight of a bonus for variety", 0, 10},
    {"rl.gamma", number, "1", "PPO: discount from token to token", 0, 1},
    {"rl.lambda", number, "0.95", "PPO: of generalised advantage estimation", 0, 1},
    {"rl.whiten", flag, "true", "PPO: advantages of a step get mean 0 and variance 1"},
    {"rl.value_weight", number, "0.5", "PPO: of the critic's loss", 0, 100},
    {"rl.value_clip", number, "0.5", "PPO: how far a value may move in one step before it no longer counts", 0, 1e6},
    {"rl.critic_warm_up", whole, "10", "PPO: steps in which the critic learns alone", 0, 1e6},
    {"rl.refill", flag, "false", "tasks whose answers are all alike are replaced by others"},
    {"rl.most_refills", whole, "3", "rounds of that in a step", 0, 100},
    {"rl.overlong_buffer", whole, "0", "last tokens before the limit in which a penalty grows; 0: none", 0, 131072},
    {"rl.overlong_penalty", number, "1", "at the limit", 0, 10},
    {"rl.importance", flag, "true", "corrects for differences between sampler and trainer"},
    {"rl.importance_most", number, "2", "largest correction", 1, 1e3},
    {"rl.credit", word, "final",
     "how turns share the outcome: 0.3 own + 0.7 final, later turns discounted, or each alone", 0, 0,
     "final later own"},
    {"rl.credit_immediate", number, "0.3", "final: share of a turn's own reward", 0, 1},
    {"rl.credit_final", number, "0.7", "final: share of the conversation's", 0, 1},
    {"rl.credit_discount", number, "0.9", "final: for each turn that comes after", 0, 1},
    {"rl.credit_later", number, "0.4", "later: for each turn between", 0, 1},
    {"rl.optimizer", word, "adamw", "muon: for matrices, AdamW for the rest", 0, 0, "adamw muon"},
    {"rl.lr", number, "0.0001", "learning rate", 0, 1},
    {"rl.critic_lr", number, "0.001", "PPO: of the value head", 0, 1},
    {"rl.schedule", word, "constant", "how the learning rate falls", 0, 0, "constant linear cosine"},
    {"rl.warm_up", whole, "5", "steps in which the learning rate rises", 0, 1e6},
    {"rl.last_lr", number, "0.1", "share of the peak that is left at the end, unless constant", 0, 1},
    {"rl.beta1", number, "0.9", "AdamW: memory of the gradient", 0, 0.9999},
    {"rl.beta2", number, "0.95", "AdamW: memory of its square", 0, 0.999999},
    {"rl.weight_decay", number, "0", "AdamW's", 0, 10},
    {"rl.clip_norm", number, "1", "longest gradient; 0: never clipped", 0, 1e6},
    {"rl.guard", word, "lower", "when a guard below trips: stop, lower the learning rate, or only say so", 0, 0,
     "stop lower warn"},
    {"rl.guard_kl", number, "1", "largest distance a token; 0: any", 0, 1e3},
    {"rl.guard_entropy", number, "0.02", "least entropy a token", 0, 20},
    {"rl.guard_pass_rate", number, "0.3", "largest fall of the pass rate below its best", 0, 1},
    {"rl.evaluate_every", whole, "0", "steps; 0: at the end only", 0, 1e9},
};

constexpr Setting curriculum_settings[] = {
    {"curriculum.enabled", flag, "true", "tiers open one after the other; otherwise all tasks from the start"},
    {"curriculum.tasks", word, "generated", "tasks of training: generated ones, those of tasks/, or both", 0, 0,
     "generated suite both"},
    {"curriculum.count", whole, "256", "generated tasks to choose from", 1, 1e7},
    {"curriculum.rules", word, "four_tiers", "easy_medium_hard: lower rates, rising speedup", 0, 0,
     "four_tiers easy_medium_hard"},
    {"curriculum.compile_rate", number, "0.9", "four_tiers: of answers, before the next tier opens", 0, 1},
    {"curriculum.pass_rate", number, "0.75", "four_tiers: likewise", 0, 1},
    {"curriculum.answers", whole, "200", "at least so many on a tier before the next one opens", 1, 1e9},
    {"curriculum.window", whole, "400", "latest answers of a tier that are looked at", 1, 1e7},
    {"curriculum.review", number, "0.2", "share of draws from earlier tiers", 0, 1},
    {"curriculum.least_weight", number, "0.1", "of a task, against one that is right half of the time", 0, 1},
    {"curriculum.memory", number, "0.98", "a task's old answers fade by this with each new one", 0, 1},
};

constexpr Setting reward_settings[] = {
    {"reward.shape", word, "gated", "which formula (docs/reward.md)", 0, 0, "gated weighted final hardware"},
    {"reward.role_weights", flag, "true", "weights of each role; otherwise the published ones for both"},
    {"reward.gate", word, "shape", "0 unless it compiles and is right: as the formula has it, always, or never", 0, 0,
     "shape always never"},
    {"reward.speed_scale", word, "linear", "of the speed term", 0, 0, "linear logarithmic"},
    {"reward.target_speedup", number, "2", "over naive, worth the whole term", 1.001, 1e4},
    {"reward.improvement_target", number, "2", "over the kernel that the Optimizer got, worth the whole term", 1.001,
     1e4},
    {"reward.repair", number, "0.5", "improvement of a right kernel over one that was wrong", 0, 10},
    {"reward.weights", list, "[]", "other weights of terms: [speed=0.5, quality=0.1]"},
};

constexpr Setting judge_settings[] = {
    {"judge.device", word, "auto", "where kernels are judged", 0, 0, "auto emulator gpu"},
    {"judge.profile", text, "h200", "device that times are modelled for (profiles/)"},
    {"judge.workers", whole, "0", "kernels at a time; 0: as the machine allows", 0, 1024},
    {"judge.cache", flag, "true", "verdicts are kept on disk"},
    {"judge.tester_skip", number, "0", "kernels that the Tester gives less chance than this are not judged; 0: all are",
     0, 1},
};

constexpr Setting evaluation_settings[] = {
    {"evaluation.enabled", flag, "true", "before and after each stage, and the report"},
    {"evaluation.tasks", whole, "64", "held-out tasks of each split", 1, 1e6},
    {"evaluation.splits", list, "[composition, novel]", "what is reported apart", 0, 0, "composition novel suite"},
    {"evaluation.samples", whole, "1", "answers to a task; more than one also gives pass@k", 1, 1024},
    {"evaluation.turns", whole, "3", "of the conversations that are compared with single answers; 1: none", 1, 5},
    {"evaluation.temperature", number, "0", "0: the likeliest answer", 0, 10},
    {"evaluation.optimizer_tasks", whole, "24", "kernels to improve, and as many to repair", 0, 1e6},
    {"evaluation.answer_tokens", whole, "1024", "longest answer", 16, 131072},
    {"evaluation.confidence", number, "0.95", "of intervals", 0.5, 0.9999},
    {"evaluation.seed", whole, "7001", "of the tasks", 0, many},
};

constexpr Setting checkpoint_settings[] = {
    {"checkpoints.every_steps", whole, "0", "0: by time alone", 0, 1e9},
    {"checkpoints.every_minutes", number, "2", "of training", 0.01, 1e5},
    {"checkpoints.keep_last", whole, "2", "newest ones that are kept", 1, 1000},
    {"checkpoints.keep_best", flag, "true", "and the best one, however old"},
};

constexpr Setting run_settings[] = {
    {"run.name", text, "", "of the run; empty: made from preset and time"},
    {"run.folder", text, "", "where runs are; empty: KERNELWRIGHT_RUNS or runs/"},
    {"run.seed", whole, "1", "of everything that is drawn, unless a section has its own", 0, many},
    {"run.report", flag, "true", "report.html at the end"},
};

constexpr SettingSection sections[] = {
    {"data", "Tasks and kernels to learn from", data_settings},
    {"tokenizer", "The vocabulary of a model from nothing", tokenizer_settings},
    {"model", "Who learns", model_settings},
    {"sft", "Stage 1: supervised training", sft_settings},
    {"compatibility", "Stage 1.5: on successful conversations of the agents themselves", compatibility_settings},
    {"rl", "Stage 2: reinforcement learning", rl_settings},
    {"curriculum", "Which task next", curriculum_settings},
    {"reward", "What a verdict is worth", reward_settings},
    {"judge", "Who says what a kernel is worth", judge_settings},
    {"evaluation", "What was learned", evaluation_settings},
    {"checkpoints", "What a resumed run starts from", checkpoint_settings},
    {"run", "The run itself", run_settings},
};

// GRPO: arXiv 2402.03300; Dr.GRPO: 2503.20783; RLOO: 2402.14740; DAPO: 2503.14476; PPO: 1707.06347.
constexpr AlgorithmDefault by_algorithm[] = {
    {"grpo", "rl.loss_mean", "answers_token_mean"},
    {"dr_grpo", "rl.loss_mean", "answers_token_sum"},
    {"dr_grpo", "rl.kl", "0"},
    {"rloo", "rl.loss_mean", "answers_token_sum"},
    {"rloo", "rl.kl_place", "reward"},
    {"rloo", "rl.kl_estimator", "k1"},
    {"ppo", "rl.kl_place", "reward"},
    {"ppo", "rl.kl_estimator", "k1"},
    {"dapo", "rl.clip_high", "0.28"},
    {"dapo", "rl.kl", "0"},
    {"dapo", "rl.refill", "true"},
    {"dapo", "rl.overlong_buffer", "128"},
};

}  // namespace

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
