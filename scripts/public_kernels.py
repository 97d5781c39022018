#!/usr/bin/env python3
"""Judges kernels of public code bases, each with a task, and writes a table.

A folder holds one folder for each kernel: `task.yaml`, `kernel.cu` (the public file as it is, with a launcher of the
task's signature behind it) and `origin.json` (repository, commit, file, kernel, expected: "correct", or what the
verdict must be instead, note: why, and fresh: whether nothing was mended after looking at that code base). Nothing of
such a folder belongs into this repository.

  scripts/public_kernels.py FOLDER --table bench/results/public_kernels.md
  scripts/public_kernels.py FOLDER --backend gpu --verdicts on-gpu.jsonl

A verdict counts as right when it is the expected one. A kernel without a verdict (refused before it could run, or not
emulated) is listed with what is missing.
"""

import argparse
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Statuses that say nothing about what the kernel computes.
NO_VERDICT = {"rejected", "launcher_error", "compile_error", "unsupported", "internal_error", "timeout"}


def read_pairs(folder):
    """name -> origin, of every kernel that has all three files."""
    pairs = {}
    for origin in sorted(folder.glob("*/origin.json")):
        missing = [n for n in ("task.yaml", "kernel.cu") if not (origin.parent / n).is_file()]
        if missing:
            sys.exit(f"{origin.parent}: {', '.join(missing)} is missing")
        pairs[origin.parent.name] = json.loads(origin.read_text())
    if not pairs:
        sys.exit(f"{folder}: no folder with origin.json, task.yaml and kernel.cu")
    return pairs


def judge(program, folder, names, workers, verdicts, backend):
    """The verdicts by name; those in the file `verdicts` are not made again."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as jobs:
        for name in names:
            job = {"id": name, "task": str(folder / name / "task.yaml"), "kernel_file": str(folder / name / "kernel.cu")}
            jobs.write(json.dumps(job) + "\n")
        jobs.flush()
        command = [program, "judge", "--batch", jobs.name, "--out", str(verdicts), "--no-time", "--no-cache", "--workers",
                   str(workers), "--backend", backend]
        subprocess.run(command, check=False)
    lines = [json.loads(line) for line in verdicts.read_text().splitlines()]
    return {line["id"]: line for line in lines if line["id"] in names}


def outcome(origin, verdict):
    """right, wrong or none: whether the verdict is the expected one, or whether there is none."""
    if verdict["status"] == origin["expected"]:
        return "right"
    return "none" if verdict["status"] in NO_VERDICT else "wrong"


def cell(text):
    return str(text).replace("|", "\\|").replace("\n", " ")


def table(pairs, verdicts):
    lines = ["| repository | file | kernel | verdict | reason |", "| --- | --- | --- | --- | --- |"]
    for name in sorted(pairs, key=lambda n: (pairs[n]["repository"], pairs[n]["file"], n)):
        origin, verdict = pairs[name], verdicts[name]
        status = verdict["status"]
        reason = "" if status == "correct" else cell(verdict["summary"])[:160]
        if origin.get("note"):
            reason += (" " if reason else "") + f"({cell(origin['note'])})"
        kind = {"right": status, "wrong": f"{status}, not {origin['expected']}", "none": f"none: {status}"}
        lines.append(f"| {origin['repository']} | {origin['file']} | {origin['kernel']} "
                     f"| {kind[outcome(origin, verdict)]} | {reason} |")
    return "\n".join(lines)


def count_row(name, commit, count):
    judged = sum(count.values())
    share = f" ({100 * count['right'] / judged:.0f} %)" if judged else ""
    return f"| {name} | {commit} | {judged} | {count['right']}{share} | {count['wrong']} | {count['none']} |"


def summary(pairs, verdicts):
    counts = collections.defaultdict(collections.Counter)
    commits, fresh = {}, set()
    for name, origin in pairs.items():
        repository = origin["repository"]
        counts[repository][outcome(origin, verdicts[name])] += 1
        commits[repository] = origin["commit"]
        if origin.get("fresh"):
            fresh.add(repository)
    lines = ["| repository | commit | kernels | right | wrong | no verdict |", "| --- | --- | --- | --- | --- | --- |"]
    total = collections.Counter()
    for group, label in ((sorted(fresh), "fresh"), (sorted(set(counts) - fresh), "looked at before")):
        part = collections.Counter()
        for repository in group:
            part.update(counts[repository])
            lines.append(count_row(repository, commits[repository][:12], counts[repository]))
        if group:
            lines.append(count_row(f"**{label}**", "", part))
        total.update(part)
    lines.append(count_row("**all**", "", total))
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--program", default=str(ROOT / "build" / "kernelwright"))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--backend", default="emulator", help="where kernels run, as of `kernelwright judge` (default: emulator)")
    parser.add_argument("--verdicts", type=pathlib.Path, help="keep the verdicts here; those in it are not made again")
    parser.add_argument("--table", type=pathlib.Path, help="write the page here; without it on standard output")
    options = parser.parse_args()
    pairs = read_pairs(options.folder)
    with tempfile.TemporaryDirectory() as made:
        file = options.verdicts or pathlib.Path(made) / "verdicts.jsonl"
        verdicts = judge(options.program, options.folder.resolve(), pairs, options.workers, file, options.backend)
    lost = sorted(set(pairs) - set(verdicts))
    if lost:
        sys.exit("no answer for " + ", ".join(lost))
    page = f"{summary(pairs, verdicts)}\n\n## Every kernel\n\n{table(pairs, verdicts)}\n"
    if options.table:
        text = options.table.read_text() if options.table.exists() else "# Kernels of public code bases\n"
        marker = "<!-- written by scripts/public_kernels.py -->"
        options.table.write_text(text.split(marker)[0].rstrip() + f"\n\n{marker}\n\n{page}")
    else:
        print(page)
    return 0 if all(outcome(pairs[n], verdicts[n]) == "right" for n in pairs) else 1


if __name__ == "__main__":
    sys.exit(main())
