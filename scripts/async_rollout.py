#!/usr/bin/env python3
"""Reinforcement learning step after step against conversations held ahead (rl.ahead): samples a second, and what is learned by step.

    scripts/async_rollout.py OUT                           three seeds of each, tiny on the CPU
    scripts/async_rollout.py OUT --device gpu --budget-s 280
    scripts/async_rollout.py OUT --least                   two small steps of each, one seed: whether it works

Runs take turns, so that both meet the same machine. Each has a cache of its own: kernels are really compiled and judged. When the
budget is over the run in progress is asked to stop, and counts with the steps that it has. OUT keeps the runs, their output and
async_rollout.json.
"""
import argparse
import contextlib
import json
import os
import pathlib
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
# What a small budget can learn from (docs/reinforcement.md).
LEARNING = ["--turns", "2", "--algorithm", "rloo", "--mini-batches", "4", "--lr", "3e-4", "--entropy-bonus", "-0.2",
            "--credit-discount", "0", "--reward", "gated", "--reward-term", "pass_rate=0.75,speed=0.25", "--exam", "0",
            "--evaluations", "0", "--checkpoint-every", "1000"]
KEPT = ["step", "critic/score/mean", "judge/pass_rate", "judge/answers", "response_length/mean", "mismatch_kl", "importance/mean",
        "importance/cut", "importance/effective", "rollout/age", "timing_s/step", "timing_s/rollout", "timing_s/update", "timing_s/wait"]
ENDS_WITHIN_S = 60  # of a run that was asked to stop


class OneRun:
    def __init__(self, arguments, out, ahead, seed):
        self.ahead, self.seed = ahead, seed
        self.folder = out / f"ahead-{ahead}-seed-{seed}"
        self.cache = out / f"cache-{ahead}-{seed}"
        self.command = [str(arguments.program), "train", "rl", str(self.folder), "--model", arguments.model, "--device", arguments.device,
                        "--judge-on", arguments.judge_on, "--steps", str(arguments.steps), "--tasks", str(arguments.tasks),
                        "--group", str(arguments.group), "--answer-tokens", str(arguments.answer_tokens), "--seed", str(seed),
                        "--ahead", str(ahead)] + LEARNING + arguments.options.split()

    def run(self, limit_s, secret):
        self.cache.mkdir(parents=True)
        if secret.exists():  # a machine has one: what is hidden from kernels depends on it
            shutil.copy(secret, self.cache / "secret")
        start = time.monotonic()
        with open(f"{self.folder}.log", "wb") as log:
            process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                                       env=dict(os.environ, KERNELWRIGHT_CACHE=str(self.cache)), start_new_session=True)
            try:
                self.wait(process, limit_s)
            finally:  # nothing of it lives on, whatever ends this script
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        if (self.cache / "secret").exists() and not secret.exists():
            shutil.copy(self.cache / "secret", secret)
        shutil.rmtree(self.cache, ignore_errors=True)
        return self.result(process.returncode, time.monotonic() - start)

    def wait(self, process, limit_s):
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(limit_s)
            return
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(ENDS_WITHIN_S)

    def result(self, code, wall_s):
        lines = self.folder / "metrics.jsonl"
        steps = [json.loads(line) for line in lines.read_text().splitlines()] if lines.exists() else []
        steps = [step for step in steps if "critic/score/mean" in step]
        kept = [{name: step[name] for name in KEPT if name in step} for step in steps]
        return {"ahead": self.ahead, "seed": self.seed, "exit": code, "wall_s": wall_s, "steps": kept}


def total(run, name):
    return sum(step.get(name, 0) for step in run["steps"])


def mean(values):
    values = list(values)
    return statistics.mean(values) if values else float("nan")


def answers_per_s(run):
    seconds = total(run, "timing_s/step")
    return total(run, "judge/answers") / seconds if seconds else float("nan")


def by_step(runs, step, name):
    found = [entry[name] for run in runs for entry in run["steps"] if entry["step"] == step and name in entry]
    return mean(found)


def curve(runs, ahead, steps):
    lines = ["", "reward by step, mean of the seeds:", "  step " + "".join(f"{f'ahead {a}':>10}" for a in ahead)]
    for step in range(1, steps + 1):
        values = [by_step([run for run in runs if run["ahead"] == a], step, "critic/score/mean") for a in ahead]
        lines.append(f"  {step:4} " + "".join(f"{value:10.3f}" for value in values))
    return lines


def table(runs, ahead, steps):
    """Every run, then the means; rewards are of the last third of the steps that all runs have."""
    common = min((len(run["steps"]) for run in runs), default=0)
    last = range(common - max(common // 3, 1) + 1, common + 1)
    lines = [f"{len(runs)} runs; the last steps are {last.start} to {last.stop - 1} of {steps}", "",
             f"{'ahead':>5} {'seed':>5} {'steps':>5} {'answers/s':>10} {'s a step':>9} {'rollout s':>9} {'wait s':>7} {'update s':>9} "
             f"{'reward, last':>13} {'right, last':>12} {'effective':>10} {'cut':>7}"]

    def row(label, group):
        each = lambda name: mean(total(run, name) / max(len(run["steps"]), 1) for run in group)
        late = lambda name: mean(by_step([run], step, name) for run in group for step in last)
        wait = each("timing_s/wait") if group[0]["ahead"] else each("timing_s/rollout")
        effective = each("importance/effective") if group[0]["ahead"] else 1.0
        steps_done = mean(len(run["steps"]) for run in group)
        return (f"{group[0]['ahead']:>5} {label:>5} {steps_done:5.0f} {mean(map(answers_per_s, group)):10.2f} "
                f"{each('timing_s/step'):9.2f} {each('timing_s/rollout'):9.2f} {wait:7.2f} {each('timing_s/update'):9.2f} "
                f"{late('critic/score/mean'):13.3f} {100 * late('judge/pass_rate'):10.1f} % {effective:10.3f} "
                f"{each('importance/cut'):7.4f}")

    lines += [row(str(run["seed"]), [run]) for run in sorted(runs, key=lambda run: (run["ahead"], run["seed"]))]
    lines.append("")
    groups = [(a, [run for run in runs if run["ahead"] == a]) for a in ahead]
    lines += [row("mean", group) for a, group in groups if group]
    base = mean(map(answers_per_s, groups[0][1]))
    lines += [f"answers a second with {a} ahead: {mean(map(answers_per_s, group)) / base:.2f} x those with {groups[0][0]}"
              for a, group in groups[1:] if group]
    return lines


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build" / "kernelwright")
    parser.add_argument("--model", default="tiny")
    parser.add_argument("--device", default="cpu", choices=["cpu", "gpu"])
    parser.add_argument("--judge-on", default="emulator")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--ahead", default="0,1", help="what is compared with the first of these")
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--tasks", type=int, default=8)
    parser.add_argument("--group", type=int, default=8)
    parser.add_argument("--answer-tokens", type=int, default=512)
    parser.add_argument("--options", default="", help="further ones of `train rl`, in one word")
    parser.add_argument("--budget-s", type=float, default=280, help="of all runs")
    parser.add_argument("--least", action="store_true")
    arguments = parser.parse_args()
    if arguments.least:
        arguments.seeds, arguments.steps, arguments.tasks, arguments.group, arguments.answer_tokens = 1, 3, 2, 2, 120
        arguments.options += " --threads 2 --pool 20"
    return arguments


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    arguments = options()
    out = arguments.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    ahead = [int(each) for each in arguments.ahead.split(",")]
    planned = [OneRun(arguments, out, a, seed) for seed in range(1, arguments.seeds + 1) for a in ahead]
    for run in planned:
        if run.folder.exists():
            sys.exit(f"{run.folder} is there already: name another folder")
    start, runs, failed = time.monotonic(), [], 0
    for number, run in enumerate(planned):
        left_s = arguments.budget_s - (time.monotonic() - start)
        if left_s < 10:
            print(f"no time for {len(planned) - number} more runs")
            break
        # What one run leaves is the others': none may take more than its part of what is left.
        result = run.run(left_s / (len(planned) - number), out / "secret")
        runs.append(result)
        good = result["exit"] in (0, 130) and result["steps"]
        failed += not good
        print(f"ahead {run.ahead}, seed {run.seed}: {len(result['steps'])} steps, {answers_per_s(result):.2f} answers/s, "
              f"{result['wall_s']:.1f} s in all, exit code {result['exit']}" + ("" if good else f"; see {run.folder}.log"), flush=True)
    record = {"machine": platform.processor() or platform.machine(), "cores": len(os.sched_getaffinity(0)), "device": arguments.device,
              "command": " ".join(planned[0].command), "runs": runs}
    (out / "async_rollout.json").write_text(json.dumps(record, indent=1) + "\n")
    whole = [run for run in runs if run["steps"]]
    if whole:
        print("\n".join(curve(whole, ahead, max(len(run["steps"]) for run in whole)) + [""] + table(whole, ahead, arguments.steps)))
    sys.exit(1 if failed or not whole else 0)


if __name__ == "__main__":
    main()
