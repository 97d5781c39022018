#!/usr/bin/env python3
"""TRL's GRPOTrainer with `environment_factory`: a model submits kernels with a tool, reads what the judge says, and is paid for the best.

    scripts/framework_run.sh trl python/examples/trl_environment.py --steps 2

The tiny model was never taught to call a tool. So what it "says" is written here: the first sample submits the task's naive kernel and then
a faster one, the others one that is wrong. Everything else is TRL's own: the prompts with the tool in them, the calls, the masks, the
rewards of the environment, the step on the tiny model's weights. With a model that calls tools, leave out `ScriptedTrainer`.
"""

import argparse
import functools
import json
import os
import pathlib
import tempfile

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch: the judge needs the other cores
os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, PrinterCallback
from trl import GRPOConfig, GRPOTrainer
from trl.chat_template_utils import qwen3_chat_template

import kernelwright as kw
from kernelwright.trl import KernelEnv, to_dataset

ROOT = pathlib.Path(__file__).resolve().parents[2]
TASK = "row_sum"
NAIVE = (ROOT / "tasks" / TASK / "naive.cu").read_text()
FAST = (ROOT / "examples" / "row_sum_warp.cu").read_text()
WRONG = (ROOT / "tests" / "bugs" / "row_sum_loop_one_too_far.cu").read_text()


def submitted(kernel):
    return f"<tool_call>\n{json.dumps({'name': 'submit', 'arguments': {'source': kernel}})}\n</tool_call><|im_end|>"


class ScriptedTrainer(GRPOTrainer):
    """What is said is decided here; the trainer asks once, and again for each answer of a tool."""

    def _generate_single_turn(self, prompt_ids, *_, **__):
        texts = map(self._said_after, map(self._tokenizer.decode, prompt_ids))
        return [self._tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts], None

    def _said_after(self, before):
        answered = before.count("<tool_response>")
        if answered == 0:
            self._asked += 1
            return submitted(NAIVE if self._asked % self.num_generations == 1 else WRONG)
        return submitted(FAST) if answered == 1 and submitted(NAIVE)[:200] in before else "Done.<|im_end|>"

    _asked = 0


def train(arguments, service):
    tokenizer = AutoTokenizer.from_pretrained(arguments.model)
    tokenizer.pad_token = tokenizer.eos_token
    tokenizer.chat_template = qwen3_chat_template
    model = AutoModelForCausalLM.from_pretrained(arguments.model, dtype=torch.float32)
    before = {name: value.detach().clone() for name, value in model.named_parameters()}
    with tempfile.TemporaryDirectory() as folder:
        config = GRPOConfig(output_dir=folder, max_steps=arguments.steps, num_generations=arguments.samples,
                            per_device_train_batch_size=arguments.samples, max_completion_length=4096, learning_rate=1e-4, beta=0.0,
                            logging_steps=1, save_strategy="no", report_to=[], use_cpu=True, bf16=False, activation_checkpointing=False,
                            seed=1, disable_tqdm=True)
        trainer = ScriptedTrainer(model=model, processing_class=tokenizer, args=config,
                                  train_dataset=to_dataset([TASK], judge=kw.Judge(service), environment=True),
                                  environment_factory=functools.partial(KernelEnv, turns=2, judge=kw.AsyncJudge(service)))
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    lines = [line for line in trainer.state.log_history if "reward" in line]
    changed = sum(not torch.equal(before[name], value) for name, value in model.named_parameters())
    return {"rewards": [line["reward"] for line in lines], "calls": [line.get("tools/call_frequency") for line in lines],
            "failures": [line.get("tools/failure_frequency") for line in lines], "changed": changed, "tensors": len(before)}


def expected(samples, service):
    """The same kernels through our own environment: the mean of the best rewards."""
    rewards = []
    for said in [[NAIVE, FAST], *[[WRONG]] * (samples - 1)]:
        course = kw.Environment(TASK, judge=kw.Judge(service), turns=2)
        course.reset()
        rewards.append(max(course.step(kernel).reward for kernel in said))
    return sum(rewards) / len(rewards)


def main(line=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default=str(ROOT / "weights" / "tiny"))
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--samples", type=int, default=2)
    arguments = parser.parse_args(line)
    with kw.Service() as service:
        result, wanted = train(arguments, service), expected(arguments.samples, service)
    shown = " ".join(f"{one:.4f}" for one in result["rewards"])
    print(f"{len(result['rewards'])} steps: rewards {shown}, by our own environment {wanted:.4f}; "
          f"calls of the tool for each answer {result['calls']}, failed {result['failures']}; "
          f"{result['changed']} of {result['tensors']} tensors of the model changed")
    if any(abs(one - wanted) > 1e-6 for one in result["rewards"]) or result["changed"] == 0:
        raise SystemExit("the rewards differ, or nothing was learned")


if __name__ == "__main__":
    main()
