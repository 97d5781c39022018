// `train rl`: reinforcement learning of agents on what the judge says of their kernels.

#include "app/cli/command.h"
#include "app/cli/model_load.h"
#include "app/stages/reinforce_run.h"
#include "base/interrupt.h"

namespace kw::cli {
namespace {

void add_learning_options(CLI::App& rl, RlArguments& arguments) {
  ReinforceOptions& options = arguments.rl;
  rl.add_option("--algorithm", arguments.algorithm)
      ->capture_default_str()
      ->check(CLI::IsMember({"grpo", "dr_grpo", "rloo", "dapo", "ppo"}));
  auto* steps = rl.add_option("--steps", options.steps, "how many")->check(CLI::PositiveNumber);
  rl.add_option("--minutes", options.minutes, "instead: as many steps as fit into this time, exams not counted")
      ->check(CLI::PositiveNumber)
      ->excludes(steps);
  rl.add_option("--lr", options.learning_rate, "learning rate")->capture_default_str();
  rl.add_option("--warm-up", options.warm_up_steps, "steps until the learning rate is reached")->capture_default_str();
  rl.add_option("--last-lr", options.last_share, "share of it at the last of --steps")->capture_default_str();
  rl.add_option("--weight-decay", arguments.weight_decay)->capture_default_str();
  rl.add_option("--epochs", options.update.epochs, "over the answers of a step")->capture_default_str();
  rl.add_option("--mini-batches", arguments.mini_batches, "gradient steps of an epoch [1; ppo 4]");
  rl.add_option("--pass", options.update.pass_tokens, "tokens that are in memory at once")->capture_default_str();
  rl.add_option("--clip", arguments.clip_low, "of the ratio, downwards")->capture_default_str();
  rl.add_option("--clip-high", arguments.clip_high, "and upwards [0.2; dapo 0.28]");
  rl.add_option("--entropy-bonus", options.update.entropy_bonus)->capture_default_str();
  rl.add_option("--kl", options.kl.coefficient, "coefficient of KL to the start; 0: none")->capture_default_str();
  rl.add_option("--kl-target", arguments.kl_target, "nats a token: the coefficient adapts; 0: it is fixed");
  rl.add_option("--kl-estimator", arguments.kl_estimator)
      ->capture_default_str()
      ->check(CLI::IsMember({"k1", "k2", "k3"}));
  rl.add_option("--refills", arguments.refills, "further draws for tasks that taught nothing [dapo 2]");
  rl.add_option("--overlong", arguments.overlong_buffer, "tokens before the longest answer that cost [dapo 64]");
  rl.add_option("--critic-lr", options.critic_learning_rate, "ppo")->capture_default_str();
  rl.add_option("--critic-warm-up", arguments.critic_warm_up, "ppo: steps in which the critic alone learns [5]");
}

void add_conversation_options(CLI::App& rl, RlArguments& arguments) {
  ReinforceOptions& options = arguments.rl;
  rl.add_option("--tasks", options.tasks, "of a step")->capture_default_str()->check(CLI::Range(1, 4096));
  rl.add_option("--group", options.group, "conversations about each")->capture_default_str()->check(CLI::Range(1, 256));
  rl.add_option("--turns", options.episode.turns, "of a conversation")->capture_default_str()->check(CLI::Range(1, 5));
  rl.add_option("--temperature", options.episode.temperature)->capture_default_str();
  rl.add_option("--answer-tokens", options.episode.answer_tokens, "longest answer")->capture_default_str();
  rl.add_option("--credit", arguments.credit, "how turns share what came out of a conversation")
      ->capture_default_str()
      ->check(CLI::IsMember({"final", "later", "leave_one_out"}));
  rl.add_option("--credit-discount", options.credit.discount,
                "credit later: of each later turn; 0: its own reward alone")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1.0));
  rl.add_option("--reward", arguments.reward, "shape (kernelwright reward)")
      ->capture_default_str()
      ->check(CLI::IsMember(reward_shape_names()));
  rl.add_option("--reward-term", arguments.terms, "TERM=WEIGHT instead of the shape's, for both roles")->delimiter(',');
  rl.add_option("--speed-scale", arguments.speed_scale, "log: twice as fast is worth the same everywhere")
      ->capture_default_str()
      ->check(CLI::IsMember({"log", "linear"}));
  rl.add_option("--target-speedup", arguments.target_speedup, "over naive: worth the whole term")
      ->capture_default_str();
  rl.add_option("--stop-reward", arguments.stop_reward, "a conversation ends when a kernel is worth so much; 0: never");
  rl.add_option("--pool", arguments.pool, "training tasks to draw from")->capture_default_str();
  rl.add_option("--families", arguments.families, "of tasks [all that training may see]")->delimiter(',');
  rl.add_option("--curriculum", arguments.curriculum)
      ->capture_default_str()
      ->check(CLI::IsMember({"tiers", "easy_medium_hard", "none"}));
  rl.add_option("--in-flight", options.in_flight, "conversations at a time")->capture_default_str();
  rl.add_option("--judge-on", arguments.judge_on, "auto: a GPU where there is one")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "emulator", "gpu"}));
  rl.add_option("--judge-workers", options.judge_workers, "0: one for each core");
}

}  // namespace

void add_train_rl_command(CLI::App& train, Context& context) {
  auto* rl = train.add_subcommand(
      "rl", "Reinforcement learning: the agents talk, the judge pays, the weights move; resumes where it was stopped");
  auto arguments = std::make_shared<RlArguments>();
  ReinforceOptions& options = arguments->rl;
  options.episode.turns = 2;
  options.learning_rate = 5e-5;       // for models of millions of weights, and adapters
  options.update.pass_tokens = 8192;  // activations of a pass: fewer take less memory
  rl->add_option("OUT", arguments->out, "the run's folder: checkpoints, metrics, and `agents` at the end")->required();
  rl->add_option("--model", arguments->model, "tiny, smollm2, a folder of agents, or a model")->capture_default_str();
  rl->add_option("--method", arguments->method, "full: all weights; lora: adapters; auto: lora where agents have some")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "full", "lora"}));
  rl->add_option("--rank", arguments->rank, "of new adapters")->capture_default_str()->check(CLI::Range(1, 256));
  rl->add_option("--alpha", arguments->alpha, "scale of new adapters is alpha / rank")->capture_default_str();
  add_learning_options(*rl, *arguments);
  add_conversation_options(*rl, *arguments);
  rl->add_option("--exam", arguments->exam, "held-out tasks, before and after; 0: none")->capture_default_str();
  rl->add_option("--evaluations", options.evaluations, "spread over the run, besides the first")->capture_default_str();
  rl->add_option("--exam-seed", arguments->exam_seed)->capture_default_str();
  rl->add_option("--exam-samples", arguments->exam_samples, "conversations about each of its tasks")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  rl->add_option("--exam-temperature", arguments->exam_temperature, "0: the likeliest answers [as --temperature]")
      ->check(CLI::Range(0.0, 10.0));
  rl->add_option("--checkpoint-every", options.checkpoint_every, "steps")->capture_default_str();
  rl->add_option("--keep-conversations", options.keep_conversations, "of every so many steps; 0: none")
      ->capture_default_str();
  rl->add_option("--threads", arguments->threads, "of the CPU's trainer; 0: all cores");
  rl->add_option("--seed", options.seed)->capture_default_str();
  add_device_option(*rl, arguments->device);
  add_json_flag(*rl, context);
  rl->footer(
      "Examples:\n"
      "  kernelwright train rl runs/rl --model tiny --minutes 8\n"
      "  kernelwright train rl runs/dapo --model runs/sft/agents --algorithm dapo --steps 50 --kl 0.02");
  rl->callback([&context, arguments] {
    install_interrupt_handling();
    const auto result = train_rl(*arguments);
    if (!result.ok()) return fail(context, result.error());
    show_training_result(context, *result);
  });
}

}  // namespace kw::cli
