// `train sft`: supervised training.

#include "app/cli/command.h"
#include "app/cli/model_load.h"
#include "app/stages/supervised_run.h"
#include "base/interrupt.h"

namespace kw::cli {

void add_train_sft_command(CLI::App& train, Context& context) {
  auto* sft = train.add_subcommand("sft",
                                   "Supervised training on generated tasks and judged kernels; resumes where it "
                                   "was stopped");
  auto arguments = std::make_shared<SftArguments>();
  SupervisedOptions& training = arguments->training;
  training.producers = 0;
  LessonPlan& plan = arguments->plan;
  sft->add_option("OUT", arguments->out, "the run's folder: checkpoints, metrics, and `agents` at the end")->required();
  sft->add_option("--model", arguments->model,
                  "a preset to start from nothing (tiny-1m, tiny-3m, tiny-6m, small-30m ...), a fetched name, a GGUF "
                  "file or a Hugging Face folder")
      ->capture_default_str();
  sft->add_option("--method", arguments->method,
                  "full: all weights; lora: an adapter for each role; qlora: the same on the CPU, the base stays in "
                  "the 4-bit blocks of its GGUF file")
      ->capture_default_str()
      ->check(CLI::IsMember({"full", "lora", "qlora"}));
  sft->add_option("--adapter", arguments->adapters, "ROLE=FOLDER: an adapter to start from");
  sft->add_option("--rank", arguments->rank, "of adapters")->capture_default_str()->check(CLI::Range(1, 256));
  sft->add_option("--alpha", arguments->alpha, "scale of adapters is alpha / rank")->capture_default_str();
  sft->add_option("--vocabulary", arguments->vocabulary, "tokens of a new vocabulary")
      ->capture_default_str()
      ->check(CLI::Range(512, 65536));
  sft->add_option("--store", arguments->store, "judged kernels (data make), for all lessons but generate");
  sft->add_option("--lessons", arguments->lessons, "KIND=SHARE of generate, optimise, repair, report [generate=1]")
      ->delimiter(',');
  sft->add_option("--conversations", arguments->conversations,
                  "a store of conversations (train gather): their answers that worked are lessons too");
  sft->add_option("--own-share", arguments->own, "of lessons from conversations")->capture_default_str();
  sft->add_option("--house-style", plan.house_style, "share of answers in one style")->capture_default_str();
  sft->add_option("--formulas", plan.formulas,
                  "share of generate's answers in that style that write expressions as the task does")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1.0));
  sft->add_option("--drill", plan.drill,
                  "share of those that stop where the kernel begins: more expressions in less time")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1.0));
  sft->add_option("--generate-first", plan.generate_first,
                  "lessons of kind generate before any of another: from nothing, kernels come before improving them")
      ->capture_default_str();
  sft->add_option("--ramp", plan.ramp, "lessons over which generate's tasks grow from short ones to all")
      ->capture_default_str();
  sft->add_option("--rewrite", plan.rewrite, "share of repairs that write the kernel anew")->capture_default_str();
  sft->add_option("--level-named", plan.level_named, "share of prompts that ask for a level")->capture_default_str();
  sft->add_option("--plain", plan.plain_unnamed, "share of naive kernels where no level is asked for")
      ->capture_default_str();
  sft->add_option("--longest", plan.longest, "tokens of a lesson; longer ones are left out")->capture_default_str();
  auto* steps = sft->add_option("--steps", training.steps, "gradient steps")->check(CLI::PositiveNumber);
  sft->add_option("--minutes", training.minutes, "instead: as many steps as fit into this time")
      ->check(CLI::PositiveNumber)
      ->excludes(steps);
  sft->add_option("--batch", training.batch_tokens, "tokens of a step")->capture_default_str();
  sft->add_option("--pass", training.pass_tokens, "tokens that are in memory at once")->capture_default_str();
  sft->add_option("--optimizer", arguments->optimizer, "muon: for the matrices of a model that is trained as a whole")
      ->capture_default_str()
      ->check(CLI::IsMember({"adamw", "muon"}));
  sft->add_option("--lr", training.peak_learning_rate, "peak learning rate")->capture_default_str();
  sft->add_option("--warm-up", training.warm_up_share, "share of the steps")->capture_default_str();
  sft->add_option("--last-lr", training.last_share, "share of the peak at the end")->capture_default_str();
  sft->add_option("--weight-decay", arguments->weight_decay)->capture_default_str();
  sft->add_option("--evaluations", training.evaluations, "spread over the run")->capture_default_str();
  sft->add_option("--checkpoint-every", training.checkpoint_every, "steps, besides those with an evaluation");
  sft->add_option("--log-every", training.log_every, "steps")->capture_default_str()->check(CLI::PositiveNumber);
  sft->add_option("--exam", arguments->exam, "held-out tasks of an evaluation")->capture_default_str();
  sft->add_option("--optimizer-exam", arguments->optimizer_exam, "kernels to improve, and as many to repair")
      ->capture_default_str();
  sft->add_option("--exam-seed", arguments->exam_seed)->capture_default_str();
  sft->add_option("--answer-tokens", arguments->answer_tokens, "longest answer in an exam")->capture_default_str();
  sft->add_option("--judge-workers", arguments->judge.workers, "0: one for each core");
  sft->add_option("--producers", training.producers, "threads that make lessons; 0: as the machine allows");
  sft->add_option("--threads", arguments->threads, "of the CPU's trainer; 0: all cores");
  sft->add_option("--seed", arguments->seed)->capture_default_str();
  sft->add_option("--audit", arguments->audit, "share of generated kernels that are judged in the background")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1.0));
  sft->add_option("--show", arguments->show, "instead of training: so many lessons, the first of them in full");
  add_device_option(*sft, arguments->device);
  add_json_flag(*sft, context);
  sft->footer(
      "Examples:\n"
      "  kernelwright train sft runs/tiny --model tiny-6m --minutes 15\n"
      "  kernelwright train sft runs/smollm2 --model smollm2-135m --method lora --store data/store "
      "--lessons generate=0.6,optimise=0.25,repair=0.15 --lr 1e-3 --minutes 8");
  sft->callback([&context, arguments] {
    install_interrupt_handling();
    const auto result = train_sft(*arguments);
    if (!result.ok()) return fail(context, result.error());
    show_training_result(context, *result);
  });
}

}  // namespace kw::cli
