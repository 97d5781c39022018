#!/usr/bin/env python3
"""How much of a folder of tasks the library of kernels reaches (docs/program.md).

For each task: is its program understood, does its graph equal the reference (--check), is the library's kernel right? Kernels and verdicts
lie in --out; what has one is not judged again, so that an interrupted run goes on.

    scripts/library_score.py tasks --out /tmp/library --program build/kernelwright --check
"""

from __future__ import annotations

import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys


def run(command: list[str], limit_s: float) -> tuple[int, str, str]:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit_s)
    except subprocess.TimeoutExpired:
        return 124, "", f"took more than {limit_s:.0f} s"
    return done.returncode, done.stdout, done.stderr


def task_folders(root: pathlib.Path) -> list[pathlib.Path]:
    """Every task.yaml below the folder, and every other *.yaml directly in it."""
    found = [file.parent for file in root.rglob("task.yaml")] + [file for file in root.glob("*.yaml")]
    return sorted(found, key=lambda path: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", path.name)])


def first_line(text: str) -> str:
    lines = [line for line in text.strip().splitlines() if line]
    return lines[0] if lines else ""


def construct_of(message: str) -> str:
    """What a refusal names, without its line."""
    return re.sub(r" \(line \d+\)", "", message.split(": ", 2)[-1])


def write_kernels(program: str, tasks: list[pathlib.Path], out: pathlib.Path, check: bool) -> dict[str, dict]:
    """Task name to {understood, refusal, equal, file}. What --check found is kept beside the kernels."""
    kept_file = out / "programs.json"
    kept: dict[str, dict] = json.loads(kept_file.read_text()) if kept_file.is_file() else {}
    for place, task in enumerate(tasks, 1):
        name = task.stem if task.suffix == ".yaml" else task.name
        print(f"\r{place}/{len(tasks)} {name:<60}", end="", file=sys.stderr)
        entry = {"task": str(task.resolve())}
        code, kernel, errors = run([program, "program", str(task), "--write"], 120)
        entry["understood"] = code == 0
        if code == 0:
            (out / f"{name}.cu").write_text(kernel)
        else:
            entry["refusal"] = construct_of(first_line(errors))
        before = kept.get(name, {})
        if check and code == 0 and before.get("equal") is True:
            entry["equal"] = True
        elif check and code == 0:
            code, shown, errors = run([program, "program", str(task), "--check"], 600)
            entry["equal"] = code == 0
            if code != 0:
                entry["difference"] = (first_line(errors) or shown.strip().replace("\n", "; "))[:300]
        kept[name] = entry
        kept_file.write_text(json.dumps(kept, indent=1))
    print(file=sys.stderr)
    return kept


def judge(program: str, programs: dict[str, dict], out: pathlib.Path, workers: int, seconds: float, backend: str) -> dict[str, dict]:
    """Task name to verdict. A kernel that changed gets another id, so that it is judged anew."""
    jobs = []
    for name, entry in programs.items():
        if entry["understood"]:
            text = (out / f"{name}.cu").read_text()
            identity = f"{name}@{hash_of(text)}"
            jobs.append({"id": identity, "task": entry["task"], "kernel_file": str((out / f"{name}.cu").resolve())})
    (out / "jobs.jsonl").write_text("".join(json.dumps(job) + "\n" for job in jobs))
    verdicts_file = out / "verdicts.jsonl"
    subprocess.run([program, "judge", "--batch", str(out / "jobs.jsonl"), "--out", str(verdicts_file), "--no-time", "--workers",
                    str(workers), "--limit-seconds", str(seconds), "--backend", backend], check=False)
    wanted = {job["id"] for job in jobs}
    found = {}
    if verdicts_file.is_file():
        for line in verdicts_file.read_text().splitlines():
            verdict = json.loads(line)
            if verdict.get("id") in wanted:
                found[verdict["id"].split("@")[0]] = verdict
    return found


def hash_of(text: str) -> str:
    import hashlib
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def status_of(verdict: dict) -> str:
    inner = verdict.get("verdict", verdict)
    return str(inner.get("status", "no verdict"))


def report(programs: dict[str, dict], verdicts: dict[str, dict], check: bool) -> str:
    understood = [name for name, entry in programs.items() if entry["understood"]]
    right = [name for name in understood if name in verdicts and status_of(verdicts[name]) == "correct"]
    lines = ["| | tasks |", "| --- | ---: |", f"| all | {len(programs)} |", f"| understood | {len(understood)} |"]
    if check:
        lines.append(f"| graph equals the reference | {sum(programs[name].get('equal') is True for name in understood)} |")
    lines.append(f"| library's kernel right | {len(right)} |")
    reasons = collections.Counter(entry["refusal"] for entry in programs.values() if not entry["understood"])
    if reasons:
        lines += ["", "| not understood | tasks |", "| --- | ---: |"] + [f"| {what} | {count} |" for what, count in reasons.most_common()]
    unequal = [name for name in understood if check and programs[name].get("equal") is not True]
    if unequal:
        lines += ["", "| not shown to be equal | what was found |", "| --- | --- |"]
        lines += [f"| {name} | {programs[name].get('difference', '')} |" for name in unequal]
    wrong = [name for name in understood if name not in right]
    if wrong:
        lines += ["", "| not right | verdict |", "| --- | --- |"]
        lines += [f"| {name} | {status_of(verdicts[name]) if name in verdicts else 'not judged'} |" for name in wrong]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", type=pathlib.Path, help="a folder of tasks")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for kernels and verdicts")
    parser.add_argument("--program", default="build/kernelwright", help="the program (default: build/kernelwright)")
    parser.add_argument("--check", action="store_true", help="compare each graph with the reference too")
    parser.add_argument("--no-judge", action="store_true", help="do not judge kernels that have no verdict")
    parser.add_argument("--workers", type=int, default=1, help="kernels judged at the same time (default: 1)")
    parser.add_argument("--limit-seconds", type=float, default=60, help="time limit of one judgement (default: 60)")
    parser.add_argument("--backend", default="auto", help="auto, gpu or emulator, as `kernelwright judge` has it (default: auto)")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    programs = write_kernels(options.program, task_folders(options.tasks), options.out, options.check)
    verdicts = {} if options.no_judge else judge(options.program, programs, options.out, options.workers, options.limit_seconds, options.backend)
    print(report(programs, verdicts, options.check))
    return 0


if __name__ == "__main__":
    sys.exit(main())
