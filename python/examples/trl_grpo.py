#!/usr/bin/env python3
"""TRL's GRPOTrainer teaches the tiny model to write faster kernels: our judge is the reward. Runs on a CPU in minutes.

    scripts/framework_run.sh trl python/examples/trl_grpo.py --seeds 1 2 3
"""

import argparse
import os
import pathlib
import tempfile
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch: the judge needs the other cores

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, PrinterCallback
from trl import GRPOConfig, GRPOTrainer

import kernelwright as kw
from kernelwright.trl import make_kernel_reward, to_dataset

ROOT = pathlib.Path(__file__).resolve().parents[2]
TASKS = ("row_sum",)


class Stopwatch:
    """Where a step's time goes, seen from outside of the trainer."""

    def __init__(self, trainer):
        self.seconds = {}
        for name in ("_generate", "_calculate_rewards", "training_step"):
            setattr(trainer, name, self._timed(name, getattr(trainer, name)))

    def _timed(self, name, call):
        def timed(*arguments, **keywords):
            begin = time.perf_counter()
            try:
                return call(*arguments, **keywords)
            finally:
                self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - begin
        return timed

    def split(self):
        generate, judge = self.seconds.get("_generate", 0.0), self.seconds.get("_calculate_rewards", 0.0)
        return {"generate_s": generate, "judge_s": judge, "learn_s": self.seconds.get("training_step", 0.0) - generate - judge}


def arguments_of(line=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default=str(ROOT / "weights" / "tiny"))
    parser.add_argument("--tasks", nargs="+", default=list(TASKS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--prompts", type=int, default=1, help="of a step")
    parser.add_argument("--samples", type=int, default=8, help="answers to each prompt")
    parser.add_argument("--max-tokens", type=int, default=200)
    parser.add_argument("--learning-rate", type=float, default=3e-4)
    parser.add_argument("--target", type=float, default=4.0, help="the speedup that is worth the whole reward for speed")
    return parser.parse_args(line)


def train(arguments, seed, service):
    """The reward of each step, and how the time was spent."""
    tokenizer = AutoTokenizer.from_pretrained(arguments.model)
    tokenizer.pad_token = tokenizer.eos_token
    model = AutoModelForCausalLM.from_pretrained(arguments.model, dtype=torch.float32)
    shape = {"shape": "gated", "target": arguments.target, "logarithmic": True}
    with tempfile.TemporaryDirectory() as folder:
        tasks = to_dataset(arguments.tasks, judge=kw.Judge(service), style="compact", words="learned")
        config = GRPOConfig(output_dir=folder, max_steps=arguments.steps, num_generations=arguments.samples,
                            per_device_train_batch_size=arguments.prompts * arguments.samples, temperature=1.0,
                            max_completion_length=arguments.max_tokens, learning_rate=arguments.learning_rate,
                            lr_scheduler_type="constant", beta=0.0, logging_steps=1, save_strategy="no", report_to=[], use_cpu=True,
                            bf16=False, activation_checkpointing=False, seed=seed, disable_tqdm=True)
        reward = make_kernel_reward(shape=shape, judge=kw.AsyncJudge(service), words="learned")
        trainer = GRPOTrainer(model=model, processing_class=tokenizer, reward_funcs=reward, train_dataset=tasks, args=config)
        trainer.remove_callback(PrinterCallback)
        watch = Stopwatch(trainer)
        trainer.train()
    steps = [line for line in trainer.state.log_history if "reward" in line]
    return {"rewards": [line["reward"] for line in steps],
            "correct": [line.get("kernel/correct") for line in steps], "speedup": [line.get("kernel/speedup") for line in steps],
            **watch.split()}


def main():
    arguments = arguments_of()
    with kw.Service() as service:
        for seed in arguments.seeds:
            result = train(arguments, seed, service)
            rewards = result["rewards"]
            part = max(1, len(rewards) // 4)
            first, last = (sum(some) / len(some) for some in (rewards[:part], rewards[-part:]))
            print(f"seed {seed}: mean reward of the first {part} steps {first:.3f}, of the last {part} {last:.3f}")
            print("  by step: " + " ".join(f"{reward:.2f}" for reward in rewards))
            print("  time: " + ", ".join(f"{name[:-2]} {result[name]:.0f} s" for name in ("generate_s", "judge_s", "learn_s")), flush=True)


if __name__ == "__main__":
    main()
