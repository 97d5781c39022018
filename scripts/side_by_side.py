#!/usr/bin/env python3
"""Two builds of the program side by side on this machine: judging, generating, training steps.

    scripts/side_by_side.py OLD NEW --rounds 5 --out bench/results/side_by_side.md      (each a program in its build folder)

They take turns, and each figure is the best of all rounds: what else the machine does makes a round slower, never faster. Judging is a
batch of the suite's own kernels without a cache; its CPU time counts, so that waiting for a core does not.
"""
import argparse
import json
import os
import pathlib
import platform
import resource
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TASKS = ["softmax", "layer_norm", "matmul", "relu", "row_cumsum", "conv2d_3x3", "gelu", "row_sum"]


def run(command, folder, **options):
    done = subprocess.run([str(part) for part in command], cwd=folder, capture_output=True, text=True, **options)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout


def speeds(text):
    """Every figure in tokens a second that `bench --json` prints, by model and batch."""
    found = {}

    def walk(value, name):
        if isinstance(value, dict):
            label = " ".join(str(value[key]) for key in ("model", "batch") if key in value) or name
            for key, inner in value.items():
                if key == ("best_tokens_per_s" if "best_tokens_per_s" in value else "tokens_per_s"):
                    found[label] = float(inner)
                else:
                    walk(inner, label)
        elif isinstance(value, list):
            for inner in value:
                walk(inner, name)

    walk(json.loads(text), "")
    return found


def judging(program, folder, jobs):
    """CPU seconds for a batch, of the program and all its workers."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as out:
        run([program, "judge", "--batch", jobs, "--out", pathlib.Path(out) / "verdicts.jsonl", "--no-cache", "--workers", "2"], folder)
        verdicts = [json.loads(line) for line in open(pathlib.Path(out) / "verdicts.jsonl")]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, {v["id"]: (v.get("verdict") or v).get("status") for v in verdicts}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=pathlib.Path)
    parser.add_argument("after", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    programs = {"before": options.before.resolve(), "after": options.after.resolve()}
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", delete=False) as jobs:
        for task in TASKS:
            kernel = ROOT / "tasks" / task / "naive.cu"
            if kernel.exists():
                jobs.write(json.dumps({"id": task, "task": str(kernel.parent), "kernel_file": str(kernel)}) + "\n")
    best = {}

    def keep(what, who, value, larger):
        old = best.setdefault(what, {}).get(who)
        best[what][who] = value if old is None else (max if larger else min)(old, value)

    verdicts = {}
    for round_number in range(options.rounds):
        for who, program in programs.items() if round_number % 2 == 0 else reversed(programs.items()):
            folder = program.parent.parent
            cpu, verdicts[who] = judging(program, folder, jobs.name)
            keep(f"judge: {len(verdicts[who])} kernels, CPU s", who, cpu, False)
            for label, speed in speeds(run([program, "bench", "rollout", "tiny-3m", "--batch", "1,16", "--json"], folder)).items():
                keep(f"rollout {label}, tok/s", who, speed, True)
            for label, speed in speeds(run([program, "bench", "train", "tiny-3m", "--seconds", "3", "--json"], folder)).items():
                keep(f"training step {label}, tok/s", who, speed, True)
        print(f"round {round_number + 1} of {options.rounds}", file=sys.stderr)
    os.unlink(jobs.name)
    lines = ["| what | before | after | after / before |", "| --- | --- | --- | --- |"]
    for what, values in best.items():
        lines.append(f"| {what} | {values['before']:,.1f} | {values['after']:,.1f} | {values['after'] / values['before']:.2f} |")
    lines.append("")
    lines.append(f"Verdicts equal: {verdicts['before'] == verdicts['after']} ({len(verdicts['after'])} kernels). "
                 f"{platform.machine()}, {os.cpu_count()} cores, best of {options.rounds} rounds.")
    print("\n".join(lines))
    if options.out:
        options.out.write_text("# Two builds side by side\n\n`scripts/side_by_side.py`\n\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
