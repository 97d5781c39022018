#!/usr/bin/env python3
"""Runs kernels of tests/ on a GPU under compute-sanitizer and compares with the emulator's verdicts.

What compute-sanitizer finds must be a subset of what we find, and our own device code must be clean. Needs a GPU and compute-sanitizer.
Usage: scripts/sanitize_corpus.py PROGRAM [--jobs N] [--tools memcheck,racecheck,...] [--only FOLDER,...] [--limit N]
Prints a Markdown table; exit code 1 when compute-sanitizer knows better.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def fact(text, key):
    found = re.search(rf"^// {key}: (.*)$", text, re.MULTILINE)
    return found.group(1).strip() if found else ""


def run(command, **environment):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=ROOT, env={**os.environ, **environment})
    except subprocess.TimeoutExpired:
        return "", "took longer than 120 s"
    return done.stdout, done.stderr


def status_of(program, task, path):
    out, _ = run([program, "judge", task, str(path), "--backend", "emulator", "--no-time", "--json"])
    return json.loads(out)["status"] if out.startswith("{") else "?"


def sanitize(program, tool, task, path):
    """The number of errors that the tool reports, and the first of them."""
    command = ["compute-sanitizer", "--tool", tool, "--target-processes", "all", program, "judge", task, str(path), "--backend", "gpu",
               "--no-emulator", "--no-time", "--no-cache", "--small-only", "--no-pytorch"]
    out, err = run(command, KERNELWRIGHT_GPU_DEBUG="1")
    text = out + err
    counts = [int(number) for number in re.findall(r"(?:ERROR SUMMARY|RACECHECK SUMMARY): (\d+)", text)]
    first = re.search(r"^========= ((?!COMPUTE-SANITIZER|Error: process|Target application).*)$", text, re.MULTILINE)
    if not counts:
        return None, text[-300:]
    return sum(counts), first.group(1) if first else ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--tools", default="memcheck,racecheck,initcheck,synccheck")
    parser.add_argument("--only", default="bugs,correct")
    parser.add_argument("--limit", type=int, default=0)
    arguments = parser.parse_args()
    paths = []
    for folder in arguments.only.split(","):
        found = sorted((ROOT / "tests" / folder).glob("*.cu"))
        paths += found[: arguments.limit] if arguments.limit else found
    tools = arguments.tools.split(",")

    def judge(path):
        task = fact(path.read_text(), "task")
        return path, status_of(arguments.program, task, path), [sanitize(arguments.program, tool, task, path) for tool in tools]

    better, found, clean, failed = [], 0, 0, 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for path, status, results in pool.map(judge, paths):
            errors = {tool: count for tool, (count, _) in zip(tools, results) if count}
            failed += sum(count is None for count, _ in results)
            for tool, (count, text) in zip(tools, results):
                if count is None:
                    print(f"{path.relative_to(ROOT)}: {tool} did not finish: {text!r}", file=sys.stderr)
            if errors and status == "correct":
                first = next(text for count, text in results if count)
                better.append(f"{path.relative_to(ROOT)}: {errors}: {first}")
            found += bool(errors)
            clean += not errors and status == "correct"
    print(f"| kernels | tools | reported by compute-sanitizer | clean there and correct here | tool failed | known only to compute-sanitizer |")
    print("| --- | --- | --- | --- | --- | --- |")
    print(f"| {len(paths)} | {' '.join(tools)} | {found} | {clean} | {failed} | {len(better)} |")
    for line in better:
        print("- " + line)
    return 1 if better else 0


if __name__ == "__main__":
    sys.exit(main())
